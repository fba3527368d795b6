/** Undo keeps the former state as a recovery point of its own. Source: behaviour volumes-storage.md 1.2 (Revert). */
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { VolumeGroupRecoveryPoint } from '@hyperplane/contract/volumes/recovery-point'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { ApiError } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import { derivedId } from '../../core/ids/named-id.ts'
import { notFound } from '../../core/standard.ts'
import type { Reader } from '../../store/store.ts'
import { claimsOn, consumerIdOf, type Group, nameOfConsumer } from '../block-volumes/attachments.ts'
import { type DiskEntity, disksOf, emptyIn, requireUncopied } from '../block-volumes/disks.ts'
import { groupTask, requireNotHydrating, requireUsable } from '../block-volumes/groups.ts'
import {
  contentsOf,
  deleteImages,
  expiryAt,
  type Point,
  type PointDisk,
  pointOf,
} from '../block-volumes/recovery-points.ts'
import { defineTask, mayRefer, type StepContext, type WriteContext } from '../context.ts'

interface Revert {
  readonly groupExtId: string
  readonly pointExtId: string
  /** Id of the recovery point that keeps the state before the revert. */
  readonly safetyExtId: string
}

type Acting = Pick<StepContext, 'drivers' | 'store'>

export async function revertGroup(ctx: WriteContext, group: Group, pointExtId: string): Promise<TaskStarted> {
  await requirePointOf(ctx, group, pointExtId)
  await requireUsable(ctx, group)
  requireNotHydrating(ctx.drivers, group)
  await requireIdle(ctx, group)
  for (const { extId } of await disksOf(ctx.store, group.extId)) await requireUncopied(ctx.store, group, extId)
  await ctx.store.update(VolumeGroup, group.extId, { isReverting: true })
  const input = { groupExtId: group.extId, pointExtId, safetyExtId: ctx.ids.uuid() }
  return ctx.startTask(revertVolumeGroup, input, groupTask('VolumeGroupRevert', 'Revert Volume Group', group))
}

export const revertVolumeGroup = defineTask<Revert>({
  name: 'volumes.revert-volume-group',
  cancelableUntil: 'switch disks',
  steps: [
    {
      name: 'keep present state',
      progress: 10,
      seconds: [1, 3],
      run: async (ctx, input) => {
        await requireIdle(ctx, (await ctx.store.get(VolumeGroup, input.groupExtId)) as Group)
        await ctx.drivers.blockStorage.snapshotBlocks(await presentState(ctx, input))
      },
      record: async (ctx, input) => {
        await ctx.store.insert(VolumeGroupRecoveryPoint, {
          extId: input.safetyExtId,
          volumeGroupExtId: input.groupExtId,
          creationTime: ctx.clock.iso(),
          disks: await presentState(ctx, input),
          rows: await disksOf(ctx.store, input.groupExtId),
        })
      },
      undo: async (ctx, input) => deleteImages(ctx.drivers, [{ disks: await presentState(ctx, input) } as Point]),
      unrecord: (ctx, { safetyExtId }) => ctx.store.remove(VolumeGroupRecoveryPoint, safetyExtId),
    },
    {
      name: 'detach data path',
      progress: 20,
      seconds: [0.5, 1.5],
      run: (ctx, { groupExtId }) => ctx.drivers.blockStorage.suspendTarget(groupExtId),
      undo: (ctx, { groupExtId }) => ctx.drivers.blockStorage.resumeTarget(groupExtId),
    },
    {
      name: 'switch disks',
      progress: 60,
      seconds: [1, 2],
      times: async (ctx, { pointExtId }) => (await pointWith(ctx.store, pointExtId)).disks.length,
      run: async (ctx, input) => {
        const { point, idOf } = await wantedState(ctx.store, input)
        await ctx.drivers.blockStorage.putContents(input.groupExtId, contentsOf(point, idOf))
      },
      undo: async (ctx, { groupExtId, safetyExtId }) =>
        ctx.drivers.blockStorage.putContents(groupExtId, contentsOf(await pointWith(ctx.store, safetyExtId))),
    },
    {
      name: 'record disks',
      progress: 80,
      record: async (ctx, input) => {
        const { point, idOf } = await wantedState(ctx.store, input)
        const kept = new Set(point.disks.map(idOf))
        for (const { extId } of await disksOf(ctx.store, input.groupExtId))
          if (!kept.has(extId)) await ctx.store.remove(VolumeDisk, extId)
        for (const disk of point.disks) {
          const { index, sizeBytes: diskSizeBytes, containerExtId: storageContainerId } = disk
          const extId = idOf(disk)
          const changes = { index, diskSizeBytes, storageContainerId }
          const present = await ctx.store.get(VolumeDisk, extId)
          if (present !== undefined) await ctx.store.update(VolumeDisk, extId, changes)
          else {
            const { tenantId } = (await ctx.store.get(VolumeGroup, input.groupExtId)) as Group
            const diskDataSourceReference = emptyIn(storageContainerId)
            const row = { ...changes, extId, volumeGroupExtId: input.groupExtId, diskDataSourceReference }
            await ctx.store.insert(VolumeDisk, tenantId === undefined ? row : { ...row, tenantId })
          }
        }
      },
      unrecord: async (ctx, { groupExtId, safetyExtId }) => {
        const { rows } = await pointWith(ctx.store, safetyExtId)
        for (const { extId } of await disksOf(ctx.store, groupExtId)) await ctx.store.remove(VolumeDisk, extId)
        for (const row of rows as DiskEntity[]) await ctx.store.insert(VolumeDisk, row)
      },
    },
    {
      name: 'attach data path',
      progress: 90,
      seconds: [0.5, 1.5],
      run: (ctx, { groupExtId }) => ctx.drivers.blockStorage.resumeTarget(groupExtId),
      undo: (ctx, { groupExtId }) => ctx.drivers.blockStorage.suspendTarget(groupExtId),
    },
    {
      name: 'start hydration',
      run: (ctx, { groupExtId }) => ctx.drivers.blockStorage.startHydration(groupExtId),
      undo: (ctx, { groupExtId }) => ctx.drivers.blockStorage.stopHydration(groupExtId),
      record: async (ctx, { groupExtId, safetyExtId }) => {
        await ctx.store.update(VolumeGroup, groupExtId, { isReverting: undefined })
        const expirationTime = expiryAt(ctx.clock.now())
        await ctx.store.update(VolumeGroupRecoveryPoint, safetyExtId, { expirationTime, rows: undefined })
        ctx.complete([{ name: 'volumeGroupExtIds', value: [groupExtId] }])
      },
    },
  ],
  onUndone: async (ctx, { groupExtId }) => {
    await ctx.store.update(VolumeGroup, groupExtId, { isReverting: undefined })
  },
})

async function requirePointOf(ctx: WriteContext, group: Group, pointExtId: string): Promise<void> {
  const attribute = 'volumeGroupRecoveryPointExtId'
  const point = await pointOf(ctx.store, pointExtId)
  const owner = point === undefined ? undefined : await ctx.store.get(VolumeGroup, point.volumeGroupExtId)
  if (owner === undefined || !(await mayRefer(ctx, VolumeGroup, owner)))
    throw notFound(VolumeGroupRecoveryPoint, pointExtId, attribute)
  if (owner.extId === group.extId) return
  const given = { recoveryPointExtId: pointExtId, name: group.name }
  throw new ApiError('RECOVERY_POINT_OF_ANOTHER_GROUP', given, { extra: { attributePath: attribute } })
}

/** @throws ApiError VOLUME_GROUP_IN_USE while an attached VM is on or a client has a session */
async function requireIdle({ store, drivers }: Acting, group: Group): Promise<void> {
  const sessions = new Set(drivers.blockStorage.sessionsOf(group.extId).map(({ clientExtId }) => clientExtId))
  const users: string[] = []
  for (const claim of await claimsOn(store, 'VolumeGroup', group.extId)) {
    const vm = claim.vmExtId === undefined ? undefined : await store.get(Vm, claim.vmExtId)
    const isUser = claim.vmExtId === undefined ? sessions.has(consumerIdOf(claim)) : vm?.powerState !== 'OFF'
    if (isUser) users.push(await nameOfConsumer(store, claim))
  }
  if (users.length > 0) throw new ApiError('VOLUME_GROUP_IN_USE', { name: group.name, users: users.join(', ') })
}

async function pointWith(store: Reader, extId: string): Promise<Point> {
  const point = await pointOf(store, extId)
  if (point === undefined) throw notFound(VolumeGroupRecoveryPoint, extId, 'volumeGroupRecoveryPointExtId')
  return point
}

async function presentState({ store, drivers }: Acting, { groupExtId, safetyExtId }: Revert): Promise<PointDisk[]> {
  const disks = await disksOf(store, groupExtId)
  const usages = await drivers.blockStorage.usageOf(disks.map(({ extId }) => extId))
  return disks.map(({ extId, index = 0, diskSizeBytes = 0, storageContainerId = '' }) => ({
    ...{ diskExtId: extId, index, sizeBytes: diskSizeBytes, containerExtId: storageContainerId },
    imageExtId: derivedId('state before revert', safetyExtId, extId),
    ...defined({ createdAt: usages.get(extId)?.createdAt }),
  }))
}

/** Disks of the point that existed before the revert keep their ids. */
async function wantedState(
  store: Reader,
  { pointExtId, safetyExtId }: Revert,
): Promise<{ readonly point: Point; readonly idOf: (disk: PointDisk) => string }> {
  const before = new Set((await pointWith(store, safetyExtId)).disks.map(({ diskExtId }) => diskExtId))
  const point = await pointWith(store, pointExtId)
  return {
    point,
    idOf: ({ diskExtId }) => (before.has(diskExtId) ? diskExtId : derivedId('reverted disk', safetyExtId, diskExtId)),
  }
}
