/** Shared by volumes and storage v4.0.a3. Source: behaviour volumes-storage.md 1.3, 1.8. */
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { ApiError, invalid } from '../../core/api-error.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import { notFound, rowWithId } from '../../core/standard.ts'
import { type Changes, withoutNulls } from '../../core/updates.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Reader, Transaction } from '../../store/store.ts'
import { affected, defineTask, type WriteContext } from '../context.ts'
import { roomForDisk } from '../storage-space/capacity.ts'
import type { Group } from './attachments.ts'
import { requireUsable } from './groups.ts'

export type DiskEntity = VolumeDisk

const sectorBytes = 512

/** The source of a disk that begins empty; stored also when the client named none, so that an update may name it. */
export const emptyIn = (containerExtId: string) => ({ extId: containerExtId, entityType: 'STORAGE_CONTAINER' }) as const

export const diskTask = (operation: string, description: string, group: Group, disk: { readonly extId: string }) => ({
  operation,
  description,
  affected: [affected(VolumeDisk, { extId: disk.extId }), affected(VolumeGroup, group)],
  clusterExtIds: [group.clusterReference],
})

export const sizeFaults = (path: string, sizeBytes: number | undefined): ApiError[] =>
  sizeBytes === undefined || sizeBytes % sectorBytes === 0
    ? []
    : [invalid(path, `expected a multiple of ${sectorBytes}, found ${sizeBytes}`)]

/** @throws ApiError VOLUME_INSUFFICIENT_STORAGE when the container is full or too small */
export async function requireDiskRoom(
  ctx: { readonly store: Reader; readonly drivers: Drivers },
  containerExtId: string,
  sizeBytes: number,
  attributePath: string,
): Promise<void> {
  const container = await ctx.store.get(StorageContainer, containerExtId)
  if (container?.clusterExtId === undefined) throw notFound(StorageContainer, containerExtId, attributePath)
  const available = await roomForDisk(ctx, container)
  if (sizeBytes > available) {
    throw new ApiError('VOLUME_INSUFFICIENT_STORAGE', { attributePath, requested: sizeBytes, available })
  }
}

interface Change {
  readonly groupExtId: string
  readonly diskExtId: string
  readonly changes: Changes<DiskEntity>
}

export async function startDiskUpdate(
  ctx: WriteContext,
  group: Group,
  disk: DiskEntity,
  requested: Changes<DiskEntity>,
): Promise<TaskStarted> {
  const { diskSizeBytes, ...others } = requested
  // A PUT without the size keeps it.
  const changes = diskSizeBytes == null ? others : { ...others, diskSizeBytes }
  requireGrowth(disk, changes)
  await requireUsable(ctx, group)
  await requireRoomFor(ctx, disk, changes)
  await touchBoth(ctx.store, group.extId, disk.extId)
  const input = { groupExtId: group.extId, diskExtId: disk.extId, changes }
  return ctx.startTask(updateDisk, input, diskTask('VolumeGroupDiskUpdate', 'Update Volume Disk', group, disk))
}

export const updateDisk = defineTask<Change>({
  name: 'volumes.update-volume-disk',
  steps: [
    {
      name: 'check',
      progress: 10,
      run: async (ctx, { diskExtId, changes }) => {
        const disk = await rowWithId(ctx.store, VolumeDisk, diskExtId)
        requireGrowth(disk, changes)
        await requireRoomFor(ctx, disk, changes)
        return { sizeBytes: disk.diskSizeBytes }
      },
      // No undo: a check changes nothing.
    },
    {
      name: 'grow',
      progress: 90,
      seconds: [0.5, 1],
      run: async (ctx, { diskExtId, changes }) => {
        if (changes.diskSizeBytes != null) await ctx.drivers.blockStorage.resizeDisk(diskExtId, changes.diskSizeBytes)
      },
      undo: async (ctx, { diskExtId, changes }) => {
        if (changes.diskSizeBytes == null) return
        await ctx.drivers.blockStorage.resizeDisk(
          diskExtId,
          (ctx.outputs['check'] as { readonly sizeBytes: number }).sizeBytes,
        )
      },
    },
    {
      name: 'record',
      record: async (ctx, { groupExtId, diskExtId, changes }) => {
        requireGrowth(await rowWithId(ctx.store, VolumeDisk, diskExtId), changes)
        await ctx.store.update(VolumeDisk, diskExtId, withoutNulls(changes))
        await ctx.store.touch(VolumeGroup, groupExtId)
      },
    },
  ],
})

/** Allowed while the group is attached: consumers see the disk disappear. */
export async function startDiskRemoval(ctx: WriteContext, group: Group, disk: DiskEntity): Promise<TaskStarted> {
  await requireUsable(ctx, group)
  await requireUncopied(ctx.store, group, disk.extId)
  await touchBoth(ctx.store, group.extId, disk.extId)
  const input = { groupExtId: group.extId, diskExtId: disk.extId }
  return ctx.startTask(deleteDisk, input, diskTask('VolumeGroupDiskDelete', 'Delete Volume Disk', group, disk))
}

export const deleteDisk = defineTask<Omit<Change, 'changes'>>({
  name: 'volumes.delete-volume-disk',
  pointOfNoReturn: 'delete',
  steps: [
    {
      name: 'check',
      progress: 10,
      record: async (ctx, { groupExtId, diskExtId }) => {
        await rowWithId(ctx.store, VolumeDisk, diskExtId)
        const group = (await ctx.store.get(VolumeGroup, groupExtId)) as Group
        await requireUncopied(ctx.store, group, diskExtId)
      },
      // No undo: a check changes nothing.
    },
    {
      name: 'delete',
      progress: 90,
      seconds: [0.5, 2],
      run: (ctx, { diskExtId }) => ctx.drivers.blockStorage.deleteDisk(diskExtId),
    },
    {
      name: 'record',
      record: async (ctx, { groupExtId, diskExtId }) => {
        await ctx.store.remove(VolumeDisk, diskExtId)
        await ctx.store.touch(VolumeGroup, groupExtId)
      },
    },
  ],
})

/** @throws ApiError VOLUME_GROUP_BUSY while a copy reads the disk */
export async function requireUncopied(store: Reader, group: Group, diskExtId: string): Promise<void> {
  if ((await store.referrerCounts('VolumeDisk', diskExtId)).size > 0) {
    throw new ApiError('VOLUME_GROUP_BUSY', { name: group.name, state: `being read: its disk ${diskExtId} is copied` })
  }
}

function requireGrowth(disk: DiskEntity, { diskSizeBytes: requested }: Changes<DiskEntity>): void {
  const current = disk.diskSizeBytes ?? 0
  if (requested != null && requested < current) throw new ApiError('DISK_CANNOT_SHRINK', { current, requested })
}

async function requireRoomFor(
  ctx: { readonly store: Reader; readonly drivers: Drivers },
  disk: DiskEntity,
  { diskSizeBytes }: Changes<DiskEntity>,
): Promise<void> {
  if (diskSizeBytes == null || diskSizeBytes === disk.diskSizeBytes) return
  await requireDiskRoom(ctx, disk.storageContainerId as string, diskSizeBytes, 'diskSizeBytes')
}

export const disksOf = (store: Reader, volumeGroupExtId: string): Promise<DiskEntity[]> =>
  store.findWhere(VolumeDisk, { volumeGroupExtId })

async function touchBoth(store: Transaction, groupExtId: string, diskExtId: string): Promise<void> {
  await store.touch(VolumeDisk, diskExtId)
  await store.touch(VolumeGroup, groupExtId)
}

export const withEffectiveFlash = (group: Group | undefined, disk: DiskEntity): DiskEntity => {
  const flashMode = disk.diskStorageFeatures?.flashMode ?? group?.storageFeatures?.flashMode
  return flashMode === undefined ? disk : { ...disk, diskStorageFeatures: { ...disk.diskStorageFeatures, flashMode } }
}
