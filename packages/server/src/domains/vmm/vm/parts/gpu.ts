/** GPUs of a VM: devices of a host, or shares of a card. Source: behaviour vmm.md 1.5, 1.16. */
import { Gpu, gpuOperations } from '@hyperplane/contract/vmm/vm/parts/gpu'
import { implement } from '../../../context.ts'
import type { GpuEntity } from '../../../virtual-machines/entity.ts'
import { claiming, described, freeing, type GpuBody, gpuFaults, refuseClash } from './devices.ts'
import { changeOf, type PartKind, readsOf } from './part.ts'

export const gpus: PartKind<'gpus'> = {
  resource: Gpu,
  field: 'gpus',
  maximum: 16,
  addresses: { path: 'deviceId', of: () => [] },
  coldFields: () => ['gpus'],
}

const partOf = (extId: string, { mode, vendor, deviceId }: GpuBody): GpuEntity =>
  ({ extId, mode, vendor, deviceId }) as GpuEntity

const reads = readsOf(Gpu, 'gpus')
const create = changeOf<'gpus', GpuBody>(
  gpus,
  'Create',
  async ({ body, extId, rest, ...ctx }) => {
    const gpu = partOf(extId, body)
    refuseClash({ ...rest, gpus: [...(rest.gpus ?? []), gpu] })
    const [planned] = (await described(ctx, rest, { gpus: [gpu] })).gpus
    return planned
  },
  claiming(({ partExtId, body }) => ({ gpus: [partOf(partExtId, body)] })),
)
const remove = changeOf<'gpus', undefined>(gpus, 'Delete', async () => undefined, freeing)

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
