/** GPUs of a VM: devices of a host, or shares of a card. Source: behaviour vmm.md 1.5, 1.16. */
import { Gpu, gpuOperations } from '@hyperplane/contract/vmm/vm/parts/gpu'
import { implement } from '../../../context.ts'
import { deviceOperations, type GpuBody, gpuFaults } from './devices.ts'

const { reads, create, remove } = deviceOperations<'gpus', GpuBody>({
  resource: Gpu,
  field: 'gpus',
  maximum: 16,
  path: 'deviceId',
})

export const gpu = implement(
  gpuOperations,
  {
    listGpusByVmId: reads.list,
    createGpu: create.handle,
    getGpuById: reads.get,
    deleteGpuById: remove.handle,
  },
  { rules: { createGpu: ({ body }) => gpuFaults(body) }, tasks: [create.task, remove.task] },
)
