/** A PCIe device of a host that a virtual machine holds. Source: catalogue vmm.json; behaviour vmm.md 1.5. */
import { resource } from '../../../operation.ts'
import { object, oneOf, optional, readOnly, uuid } from '../../../schema.ts'

export const PcieDeviceReference = object('vmm.v4.ahv.config.PcieDeviceReference', { deviceExtId: optional(uuid()) })

export const PcieDevice = resource(
  'vmm.v4.ahv.config.PcieDevice',
  {
    backingInfo: optional(oneOf(PcieDeviceReference)),
    assignedDeviceInfo: readOnly(object('vmm.v4.ahv.config.PcieDeviceInfo', { device: optional(PcieDeviceReference) })),
  },
  {
    kind: 'VirtualMachinePcieDevice',
    title: 'PCIe device',
    notFound: 'VMM_ENTITY_NOT_FOUND',
    staleTag: 'VM_ETAG_MISMATCH',
  },
)
