/** Reads of a VM's disks. Source: behaviour vmm.md 1.2. */
import { Disk, diskOperations } from '@hyperplane/contract/vmm/disk'
import { listOf, notFound } from '../../core/standard.ts'
import { withVolumeGroups } from '../block-volumes/attachments.ts'
import { implement, type ReadContext } from '../context.ts'
import type { DiskEntity } from '../virtual-machines/entity.ts'

/** Its own and the volume groups that are attached to it. */
async function disksOf(ctx: ReadContext): Promise<readonly DiskEntity[]> {
  const [vm] = await withVolumeGroups(ctx.store, [ctx.parents['vmExtId']])
  return vm?.disks ?? []
}

export const disk = implement(diskOperations, {
  async listDisksByVmId(ctx, request) {
    return listOf(await disksOf(ctx), request) as never
  },
  async getDiskById(ctx, { path }) {
    const found = (await disksOf(ctx)).find(({ extId }) => extId === path['extId'])
    if (found === undefined) throw notFound(Disk, Disk.kind, path['extId'] as string, 'extId')
    return found as never
  },
})
