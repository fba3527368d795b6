/** PCIe devices of a VM. Source: behaviour vmm.md 1.5, 1.16. */
import { PcieDevice, pcieDeviceOperations } from '@hyperplane/contract/vmm/vm/parts/pcie-device'
import { implement } from '../../../context.ts'
import type { PcieDeviceEntity } from '../../../virtual-machines/entity.ts'
import { claiming, described, devicesHaveOneOwner, freeing, type PcieBody, pcieFaults, refuseClash } from './devices.ts'
import { changeOf, type PartKind, readsOf } from './part.ts'

const pcieDevices: PartKind<'pcieDevices'> = {
  resource: PcieDevice,
  field: 'pcieDevices',
  maximum: 64,
  addresses: { path: 'backingInfo/deviceExtId', of: () => [] },
  coldFields: () => ['pcieDevices'],
}

const partOf = (extId: string, { backingInfo }: PcieBody): PcieDeviceEntity =>
  ({ extId, backingInfo }) as PcieDeviceEntity

const reads = readsOf(PcieDevice, 'pcieDevices')
const create = changeOf<'pcieDevices', PcieBody>(
  pcieDevices,
  'Create',
  async ({ body, extId, rest, ...ctx }) => {
    const device = partOf(extId, body)
    refuseClash({ ...rest, pcieDevices: [...(rest.pcieDevices ?? []), device] })
    const [planned] = (await described(ctx, rest, { pcieDevices: [device] })).pcieDevices
    return planned
  },
  claiming(({ partExtId, body }) => ({ pcieDevices: [partOf(partExtId, body)] })),
)
const remove = changeOf<'pcieDevices', undefined>(pcieDevices, 'Delete', async () => undefined, freeing)

export const pcieDevice = implement(
  pcieDeviceOperations,
  {
    listPcieDevicesByVmId: reads.list,
    createPcieDevice: create.handle,
    getPcieDeviceById: reads.get,
    deletePcieDeviceById: remove.handle,
  },
  {
    rules: { createPcieDevice: ({ body }) => pcieFaults(body) },
    tasks: [create.task, remove.task],
    invariants: [devicesHaveOneOwner],
  },
)
