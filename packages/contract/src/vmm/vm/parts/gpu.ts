/** Source: catalogue vmm.json; behaviour vmm.md 1.5. */
import { resource } from '../../../operation.ts'
import * as s from '../../../schema.ts'

export const SBDF = s.object('vmm.v4.ahv.config.SBDF', {
  segment: s.readOnly(s.integer()),
  bus: s.readOnly(s.integer()),
  device: s.readOnly(s.integer()),
  func: s.readOnly(s.integer()),
})

export const Gpu = resource(
  'vmm.v4.ahv.config.Gpu',
  {
    mode: s.optional(s.enumeration(['PASSTHROUGH_GRAPHICS', 'PASSTHROUGH_COMPUTE', 'VIRTUAL'])),
    vendor: s.optional(s.enumeration(['NVIDIA', 'INTEL', 'AMD'])),
    deviceId: s.optional(s.integer()),
    name: s.readOnly(s.text({ maxLength: 128 })),
    pciAddress: s.readOnly(SBDF),
    fraction: s.readOnly(s.integer()),
    frameBufferSizeBytes: s.readOnly(s.integer()),
    numVirtualDisplayHeads: s.readOnly(s.integer()),
    guestDriverVersion: s.readOnly(s.text({ maxLength: 128 })),
  },
  { kind: 'VirtualMachineGpu', title: 'GPU', notFound: 'VMM_ENTITY_NOT_FOUND', staleTag: 'VM_ETAG_MISMATCH' },
)
