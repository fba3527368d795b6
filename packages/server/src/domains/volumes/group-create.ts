/** Source: behaviour volumes-storage.md 1.2. */
import type { BodyOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { ApiError, invalid } from '../../core/api-error.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import { created } from '../../core/updates.ts'
import type { Group } from '../block-volumes/attachments.ts'
import { requireWritable } from '../block-volumes/groups.ts'
import { isManager } from '../containers/storage-containers.ts'
import { affected, defineTask, type WriteContext } from '../context.ts'
import { limit, limitOf } from '../limits.ts'
import { accessAfter, namingAfter, newGroupFaults } from './group-rules.ts'
import { targetOf } from './group-target.ts'
import { allocateDisk, checkDisk, type DiskInput, diskInputOf, newDiskFaults, planDisks } from './new-disks.ts'

/** Per cluster. Source: behaviour volumes-storage.md 1.1. */
export const maximumGroups = limit('volumeGroupsOfCluster', 6000)

interface Creation {
  readonly groupExtId: string
  readonly clusterExtId: string
  readonly disks: readonly DiskInput[]
}

const pathInGroup = (index: number): string => `disks[${index}]/`

export const groupCreationFaults = (body: BodyOf<typeof VolumeGroup>): ApiError[] => [
  ...newGroupFaults(body),
  ...newDiskFaults(body.disks ?? [], pathInGroup),
]

/** Pending rows reserve names and indexes until the task publishes them. */
export async function createGroup(ctx: WriteContext, body: BodyOf<typeof VolumeGroup>): Promise<TaskStarted> {
  const extId = ctx.ids.uuid()
  const { access } = accessAfter(body)
  const { naming } = namingAfter(extId, body)
  const cluster = await ctx.store.get(Cluster, body.clusterReference)
  if (cluster === undefined || isManager(cluster)) {
    throw invalid('clusterReference', 'expected a cluster with storage, found the manager itself')
  }
  const place = {
    cluster: await requireWritable(ctx, body.clusterReference),
    groupExtId: extId,
    groupName: body.name,
    pathOf: pathInGroup,
  }
  const planned = await planDisks(ctx, body.disks ?? [], place)
  // The count includes groups that are still being created.
  const found = ((await ctx.store.referrerCounts(Cluster.kind, body.clusterReference)).get(VolumeGroup.kind) ?? 0) + 1
  const maximum = limitOf(ctx, maximumGroups)
  if (found > maximum) throw new ApiError('LIMIT_EXCEEDED', { limit: 'Volume groups of the cluster', maximum, found })
  const group: Group = created(ctx, VolumeGroup, body, {
    // Disks are separate entities; `access` has the stored features.
    disks: undefined,
    iscsiFeatures: undefined,
    ...access,
    ...naming,
    extId,
    createdBy: body.createdBy ?? ctx.caller.name,
    ownerReferenceId: ctx.caller.extId,
    createdAt: ctx.clock.iso(),
  })
  await ctx.store.insert(VolumeGroup, group, { pending: true })
  for (const { disk } of planned) await ctx.store.insert(VolumeDisk, disk, { pending: true })
  const input = { groupExtId: extId, clusterExtId: body.clusterReference, disks: planned.map(diskInputOf) }
  const task = await ctx.startTask(makeGroup, input, {
    operation: 'VolumeGroupCreate',
    description: 'Create Volume Group',
    affected: [affected(VolumeGroup, group), ...planned.map(({ disk }) => affected(VolumeDisk, { extId: disk.extId }))],
    clusterExtIds: [body.clusterReference],
  })
  return { ...task, created: extId }
}

export const makeGroup = defineTask<Creation>({
  name: 'volumes.create-volume-group',
  cancelableUntil: 'publish',
  steps: [
    {
      name: 'check',
      progress: 5,
      run: async (ctx, { disks }) => {
        for (const disk of disks) await checkDisk(ctx, disk)
      },
      // No undo: a check changes nothing.
    },
    {
      name: 'reserve target name',
      progress: 15,
      seconds: [0.5, 1.5],
      run: async (ctx, { groupExtId }) => {
        const group = (await ctx.store.pending(VolumeGroup, groupExtId)) as Group
        await ctx.drivers.blockStorage.putTarget(targetOf(ctx, group))
      },
      undo: (ctx, { groupExtId }) => ctx.drivers.blockStorage.removeTarget(groupExtId),
    },
    {
      name: 'create disks',
      progress: 90,
      seconds: [0.5, 1.5],
      run: async (ctx, { clusterExtId, disks }) => {
        for (const [index, disk] of disks.entries()) {
          await allocateDisk(ctx, clusterExtId, disk)
          await ctx.drivers.blockStorage.publishDisk(disk.diskExtId)
          await ctx.progress(15 + (75 * (index + 1)) / disks.length)
        }
      },
      undo: async (ctx, { disks }) => {
        for (const { diskExtId } of disks) await ctx.drivers.blockStorage.deleteDisk(diskExtId)
      },
    },
    {
      name: 'publish',
      record: async (ctx, { groupExtId, disks }) => {
        await ctx.store.publish(VolumeGroup, groupExtId)
        for (const { diskExtId } of disks) {
          await ctx.store.update(VolumeDisk, diskExtId, { copyOf: undefined })
          await ctx.store.publish(VolumeDisk, diskExtId)
        }
      },
    },
  ],
  onUndone: async (ctx, { groupExtId, disks }) => {
    for (const { diskExtId } of disks) await ctx.store.remove(VolumeDisk, diskExtId)
    await ctx.store.remove(VolumeGroup, groupExtId)
  },
})
