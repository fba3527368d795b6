/** Source: behaviour volumes-storage.md 1.3. */
import { VolumeDisk, volumeDiskOperations } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { replacingChanges } from '../../core/updates.ts'
import type { Group } from '../block-volumes/attachments.ts'
import {
  type DiskEntity,
  deleteDisk,
  diskTask,
  sizeFaults,
  startDiskRemoval,
  startDiskUpdate,
  updateDisk,
  withEffectiveFlash,
} from '../block-volumes/disks.ts'
import { requireUsable } from '../block-volumes/groups.ts'
import { defineTask, implement, parentOf, type ReadContext } from '../context.ts'
import {
  allocateDisk,
  checkDisk,
  type DiskInput,
  diskInputOf,
  newDiskFaults,
  type PlannedDisk,
  planDisks,
} from './new-disks.ts'

interface Creation extends DiskInput {
  readonly groupExtId: string
  readonly clusterExtId: string
}

const createDisk = defineTask<Creation>({
  name: 'volumes.create-volume-disk',
  cancelableUntil: 'record',
  steps: [
    {
      name: 'allocate',
      progress: 70,
      seconds: [0.5, 2],
      run: async (ctx, input) => {
        await checkDisk(ctx, input)
        await allocateDisk(ctx, input.clusterExtId, input)
      },
      undo: (ctx, { diskExtId }) => ctx.drivers.blockStorage.deleteDisk(diskExtId),
    },
    {
      name: 'publish LUN',
      progress: 90,
      run: (ctx, { diskExtId }) => ctx.drivers.blockStorage.publishDisk(diskExtId),
      // No undo: deleting the disk also removes it from its consumers.
    },
    {
      name: 'record',
      record: async (ctx, { groupExtId, diskExtId }) => {
        await ctx.store.update(VolumeDisk, diskExtId, { copyOf: undefined })
        await ctx.store.publish(VolumeDisk, diskExtId)
        await ctx.store.touch(VolumeGroup, groupExtId)
      },
    },
  ],
  onUndone: (ctx, { diskExtId }) => ctx.store.remove(VolumeDisk, diskExtId),
})

export const volumeDisk = implement(
  volumeDiskOperations,
  {
    async createVolumeDisk(ctx, { body }) {
      const group = parentOf(ctx, 'volumeGroupExtId', VolumeGroup)
      const cluster = await requireUsable(ctx, group)
      const place = { cluster, groupExtId: group.extId, groupName: group.name, pathOf: () => '' }
      const [planned] = (await planDisks(ctx, [body], place)) as [PlannedDisk]
      const { disk } = planned
      await ctx.store.insert(VolumeDisk, disk, { pending: true })
      await ctx.store.touch(VolumeGroup, group.extId)
      const input = { ...diskInputOf(planned), groupExtId: group.extId, clusterExtId: cluster.extId }
      const options = diskTask('VolumeGroupDiskCreate', 'Create Volume Disk', group, disk)
      const task = await ctx.startTask(createDisk, input, options)
      return { ...task, created: disk.extId }
    },

    async updateVolumeDiskById(ctx, { body }) {
      const group = parentOf(ctx, 'volumeGroupExtId', VolumeGroup)
      return startDiskUpdate(ctx, group, ctx.target, replacingChanges(VolumeDisk, body, ctx.version))
    },

    async deleteVolumeDiskById(ctx) {
      return startDiskRemoval(ctx, parentOf(ctx, 'volumeGroupExtId', VolumeGroup), ctx.target)
    },
  },
  {
    rules: {
      createVolumeDisk: ({ body }) => newDiskFaults([body], () => ''),
      updateVolumeDiskById: ({ body }) => sizeFaults('diskSizeBytes', body.diskSizeBytes),
    },
    tasks: [createDisk, updateDisk, deleteDisk],
    present: [[VolumeDisk, presentDisks]],
  },
)

/** Omits the data source, which public clients cannot read back. */
async function presentDisks(ctx: ReadContext, disks: readonly DiskEntity[]): Promise<readonly DiskEntity[]> {
  const groups = new Map<string, Group>()
  for (const extId of new Set(disks.map(({ volumeGroupExtId }) => volumeGroupExtId as string))) {
    const group = await ctx.store.get(VolumeGroup, extId)
    if (group !== undefined) groups.set(extId, group)
  }
  return disks.map(({ diskDataSourceReference: _, ...disk }) =>
    withEffectiveFlash(groups.get(disk.volumeGroupExtId as string), disk),
  )
}
