/** Source: catalogue vmm.json; behaviour vmm.md 1.5. */
import { resource } from '../../../operation.ts'
import * as s from '../../../schema.ts'

export const PcieDeviceReference = s.object('vmm.v4.ahv.config.PcieDeviceReference', {
  deviceExtId: s.optional(s.uuid()),
})

export const PcieDevice = resource(
  'vmm.v4.ahv.config.PcieDevice',
  {
    backingInfo: s.optional(s.oneOf(PcieDeviceReference)),
    assignedDeviceInfo: s.readOnly(
      s.object('vmm.v4.ahv.config.PcieDeviceInfo', { device: s.optional(PcieDeviceReference) }),
    ),
  },
  {
    kind: 'VirtualMachinePcieDevice',
    title: 'PCIe device',
    notFound: 'VMM_ENTITY_NOT_FOUND',
    staleTag: 'VM_ETAG_MISMATCH',
  },
)
