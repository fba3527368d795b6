/** Source: catalogue vmm.json; behaviour vmm.md 1.5, 2, operation-roles.tsv. */
import { create, get, list, remove, resource } from '../../../operation.ts'
import * as s from '../../../schema.ts'
import { vmMutationRate, vmReaders, vmWriters } from '../../roles.ts'

export const SBDF = s.object('vmm.v4.ahv.config.SBDF', {
  segment: s.readOnly(s.integer()),
  bus: s.readOnly(s.integer()),
  device: s.readOnly(s.integer()),
  func: s.readOnly(s.integer()),
})

export const Gpu = resource('vmm.v4.ahv.config.Gpu', {
  fields: {
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
  iamNoun: 'Virtual_Machine_GPU',
  kind: 'VirtualMachineGpu',
  title: 'GPU',
  derived: true,
  internal: { vmExtId: s.uuid() },
  parent: { param: 'vmExtId', kind: 'Vm', field: 'vmExtId', listedIn: 'gpus' },
  rel: 'vmm:ahv:config:vm:gpu',
  sharesTagOf: 'vmExtId',
})

const view = { roles: vmReaders } as const
const change = { roles: vmWriters, rateLimit: vmMutationRate, ifMatch: 'required', requestId: 'required' } as const

const gpus = '/ahv/config/vms/{vmExtId}/gpus'

export const gpuOperations = {
  listGpusByVmId: list(gpus, Gpu, { ...view, filter: ['extId', 'mode', 'vendor'] }),
  createGpu: create(gpus, Gpu, change),
  getGpuById: get(`${gpus}/{extId}`, Gpu, view),
  deleteGpuById: remove(`${gpus}/{extId}`, Gpu, change),
}
