/** Source: behaviour volumes-storage.md 1.2. */
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { ApiError } from '../../core/api-error.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import type { Reader } from '../../store/store.ts'
import { claimsOn, type Group, nameOfConsumer } from '../block-volumes/attachments.ts'
import { disksOf, requireUncopied } from '../block-volumes/disks.ts'
import { groupTask, requireNotHydrating, requireUsable } from '../block-volumes/groups.ts'
import { deleteImages, recoveryPointsOf, removePoints } from '../block-volumes/recovery-points.ts'
import { defineTask, type WriteContext } from '../context.ts'

const namedUsers = 5

interface Removal {
  readonly groupExtId: string
}

export async function deleteGroup(ctx: WriteContext, group: Group): Promise<TaskStarted> {
  await requireUsable(ctx, group)
  requireNotHydrating(ctx.drivers, group)
  await requireUnused(ctx.store, group)
  // The group refuses attachments and disks from now on.
  await ctx.store.update(VolumeGroup, group.extId, { isDeleting: true })
  const options = groupTask('VolumeGroupDelete', 'Delete Volume Group', group)
  return ctx.startTask(removeGroup, { groupExtId: group.extId }, options)
}

export const removeGroup = defineTask<Removal>({
  name: 'volumes.delete-volume-group',
  pointOfNoReturn: 'unpublish',
  steps: [
    {
      name: 'check',
      progress: 5,
      record: async (ctx, { groupExtId }) => {
        await requireUnused(ctx.store, (await ctx.store.get(VolumeGroup, groupExtId)) as Group)
      },
      // No undo: a check changes nothing.
    },
    {
      name: 'unpublish',
      progress: 20,
      seconds: [0.5, 1.5],
      run: (ctx, { groupExtId }) => ctx.drivers.blockStorage.removeTarget(groupExtId),
    },
    {
      name: 'delete disks',
      progress: 90,
      seconds: [0.5, 1.5],
      run: async (ctx, { groupExtId }) => {
        for (const { extId } of await disksOf(ctx.store, groupExtId)) await ctx.drivers.blockStorage.deleteDisk(extId)
        await deleteImages(ctx.drivers, await recoveryPointsOf(ctx.store, groupExtId))
      },
      record: async (ctx, { groupExtId }) => {
        for (const { extId } of await disksOf(ctx.store, groupExtId)) await ctx.store.remove(VolumeDisk, extId)
        await removePoints(ctx.store, await recoveryPointsOf(ctx.store, groupExtId))
      },
    },
    { name: 'remove row', record: (ctx, { groupExtId }) => ctx.store.remove(VolumeGroup, groupExtId) },
  ],
  onUndone: async (ctx, { groupExtId }) => {
    await ctx.store.update(VolumeGroup, groupExtId, { isDeleting: undefined })
  },
})

async function requireUnused(store: Reader, group: Group): Promise<void> {
  const claims = await claimsOn(store, 'VolumeGroup', group.extId)
  if (claims.length > 0) {
    const names = await Promise.all(claims.slice(0, namedUsers).map((claim) => nameOfConsumer(store, claim)))
    const more = claims.length > namedUsers ? ` and ${claims.length - namedUsers} more` : ''
    throw new ApiError('VOLUME_GROUP_ATTACHED', { name: group.name, users: `${names.join(', ')}${more}` })
  }
  for (const { extId } of await disksOf(store, group.extId)) await requireUncopied(store, group, extId)
}
