/** Reads of a VM's disks. Source: behaviour vmm.md 1.2. */
import { Disk, diskOperations } from '@hyperplane/contract/vmm/vm/parts/disk'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { listOf, notFound } from '../../../../core/standard.ts'
import { withVolumeGroups } from '../../../block-volumes/attachments.ts'
import { implement, parentOf, type ReadContext } from '../../../context.ts'
import type { DiskEntity } from '../../../virtual-machines/entity.ts'

/** The disks of the VM itself, and the volume groups that are attached to it. */
async function disksOf(ctx: ReadContext<unknown, 'vmExtId'>): Promise<readonly DiskEntity[]> {
  const [vm] = await withVolumeGroups(ctx.store, [parentOf(ctx, 'vmExtId', Vm)])
  return vm?.disks ?? []
}

export const disk = implement(diskOperations, {
  async listDisksByVmId(ctx, request) {
    return listOf(await disksOf(ctx), request)
  },
  async getDiskById(ctx, { path }) {
    const found = (await disksOf(ctx)).find(({ extId }) => extId === path.extId)
    if (found === undefined) throw notFound(Disk, Disk.kind, path.extId, 'extId')
    return found
  },
})
