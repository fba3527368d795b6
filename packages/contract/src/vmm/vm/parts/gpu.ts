/** A GPU of a virtual machine. Source: catalogue vmm.json; behaviour vmm.md 1.5. */
import { resource } from '../../../operation.ts'
import { enumeration, integer, object, optional, readOnly, text } from '../../../schema.ts'

export const SBDF = object('vmm.v4.ahv.config.SBDF', {
  segment: readOnly(integer()),
  bus: readOnly(integer()),
  device: readOnly(integer()),
  func: readOnly(integer()),
})

export const Gpu = resource(
  'vmm.v4.ahv.config.Gpu',
  {
    mode: optional(enumeration(['PASSTHROUGH_GRAPHICS', 'PASSTHROUGH_COMPUTE', 'VIRTUAL'])),
    vendor: optional(enumeration(['NVIDIA', 'INTEL', 'AMD'])),
    deviceId: optional(integer()),
    name: readOnly(text({ maxLength: 128 })),
    pciAddress: readOnly(SBDF),
    fraction: readOnly(integer()),
    frameBufferSizeBytes: readOnly(integer()),
    numVirtualDisplayHeads: readOnly(integer()),
    guestDriverVersion: readOnly(text({ maxLength: 128 })),
  },
  { kind: 'VirtualMachineGpu', title: 'GPU', notFound: 'VMM_ENTITY_NOT_FOUND', staleTag: 'VM_ETAG_MISMATCH' },
)
