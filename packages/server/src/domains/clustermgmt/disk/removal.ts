/** Moves the data of a disk to others, and takes it out of the pool. Source: behaviour clustermgmt.md 1.1, 1.8 (deleteDiskById). */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Disk } from '@hyperplane/contract/clustermgmt/disk'
import { ApiError } from '../../../core/api-error.ts'
import type { TaskStarted } from '../../../core/handlers.ts'
import { rowWithId } from '../../../core/standard.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { Drive, Evacuation } from '../../../drivers/drives.ts'
import type { Transaction } from '../../../store/store.ts'
import {
  CancelAccepted,
  defineTask,
  type StepContext,
  taskAbout,
  throwIfCanceled,
  type WriteContext,
} from '../../context.ts'
import { requireReachable } from '../../registrations/reachability.ts'
import { lockTopology, requireIdleTopology } from '../../scheduling/topology.ts'
import { isWorking, poolUsage } from '../../storage-space/capacity.ts'
import type { DiskRow } from '../../storage-space/disks.ts'
import { evacuationsOf } from '../../storage-space/drive-usage.ts'

export interface OfDisk {
  readonly diskExtId: string
  readonly hostExtId: string
  readonly clusterExtId: string
}

/** Bytes that stay free on the other disks, in percent of their capacity. */
const freePercent = 5
const [moveFrom, moveTo] = [5, 95]

export const driveOf = (drivers: Pick<Drivers, 'hardware'>, { diskExtId, hostExtId }: OfDisk): Drive | undefined =>
  drivers.hardware.drivesOf(hostExtId).find(({ extId }) => extId === diskExtId)

export async function startRemoval(ctx: WriteContext, disk: DiskRow): Promise<TaskStarted> {
  const { serialNumber = '', clusterExtId = '', nodeExtId: hostExtId = '' } = disk
  const cluster = await rowWithId(ctx.store, Cluster, clusterExtId, 'clusterExtId')
  requireReachable(ctx, cluster)
  if (disk.status !== 'NORMAL') throw new ApiError('DISK_REMOVAL_IN_PROGRESS', { serialNumber })
  const at = { diskExtId: disk.extId, hostExtId, clusterExtId }
  await requireDispensable(ctx, disk, at)
  const sharing = { sharedByHostExtId: hostExtId }
  await requireIdleTopology(ctx.store, cluster, sharing)
  const named = { extId: disk.extId, name: serialNumber }
  const task = await ctx.startTask(removeDisk, at, taskAbout('Remove Disk', Disk, named, clusterExtId))
  await lockTopology(ctx.store, clusterExtId, task.extId, sharing)
  await ctx.store.update(Disk, disk.extId, {
    status: 'MARKED_FOR_REMOVAL_BUT_NOT_DETACHABLE',
    removal: { taskExtId: task.extId },
    diskAdvanceConfig: { ...disk.diskAdvanceConfig, isMarkedForRemoval: true },
  })
  return task
}

/** A working disk must leave its host with others, and its data must fit on disks of hosts that are up. @throws ApiError 409 */
async function requireDispensable(ctx: WriteContext, disk: DiskRow, at: OfDisk): Promise<void> {
  const drive = driveOf(ctx.drivers, at)
  if (drive === undefined || !isWorking(drive)) return
  const refuse = (reason: string): never => {
    throw new ApiError('DISK_REQUIRED', { serialNumber: drive.serialNumber, reason })
  }
  if (drive.isBootDrive) refuse('its host boots from it')
  const staying = await stayingDisks(ctx, disk)
  const ofHost = staying.filter(({ nodeExtId }) => nodeExtId === at.hostExtId)
  if (ofHost.length === 0) refuse('it is the last working disk of its host')
  const isSsd = ({ storageTier }: DiskRow): boolean => storageTier !== 'DAS_SATA'
  if (isSsd(disk) && !ofHost.some(isSsd)) refuse('it is the last working SSD of its host')
  const pool = await poolUsage(ctx, at.clusterExtId)
  const used = pool.capacityBytes - pool.freeBytes
  const reachable = staying.filter(({ nodeExtId = '' }) => ctx.drivers.hardware.isHostUp(nodeExtId))
  const left = reachable.reduce((sum, { physicalCapacityBytes = 0 }) => sum + physicalCapacityBytes, 0)
  const available = Math.floor((left * (100 - freePercent)) / 100)
  if (available < used)
    throw new ApiError('INSUFFICIENT_STORAGE', {
      attributePath: 'extId',
      requested: String(used),
      available: String(available),
    })
}

/** Other disks of the cluster that work and are not being removed. */
async function stayingDisks({ store, drivers }: WriteContext, disk: DiskRow): Promise<readonly DiskRow[]> {
  const { hardware } = drivers
  const disks = await store.findWhere(Disk, { clusterExtId: disk.clusterExtId as string })
  return disks.filter(({ extId, nodeExtId = '', status }) => {
    if (extId === disk.extId || status !== 'NORMAL') return false
    const drive = hardware.drivesOf(nodeExtId).find((each) => each.extId === extId)
    return drive !== undefined && isWorking(drive)
  })
}

export const removeDisk = defineTask<OfDisk>({
  name: 'clustermgmt.remove-disk',
  cancelableUntil: 'detach',
  pointOfNoReturn: 'detach',
  steps: [
    {
      name: 'mark',
      progress: moveFrom,
      run: async (ctx, input): Promise<Evacuation> => {
        const drive = driveOf(ctx.drivers, input)
        const [evacuation] = await evacuationsOf(ctx, input.clusterExtId, drive === undefined ? [] : [drive])
        return evacuation ?? { bytes: 0 }
      },
      record: async (ctx, { diskExtId }, evacuation: Evacuation) => {
        await changeDisk(ctx.store, diskExtId, { status: 'DATA_MIGRATION_INITIATED' })
        return { keep: evacuation }
      },
    },
    {
      name: 'migrate data',
      progress: moveTo,
      run: moveData,
      // Data that has moved stays where it is.
      undo: (ctx, { clusterExtId, diskExtId }) => ctx.drivers.hardware.stopEvacuation(clusterExtId, diskExtId),
    },
    {
      name: 'detach',
      run: (ctx, { clusterExtId, diskExtId }) => ctx.drivers.hardware.unpoolDrive(clusterExtId, diskExtId),
      record: (ctx, { diskExtId }) =>
        changeDisk(ctx.store, diskExtId, {
          status: 'DETACHABLE',
          removal: { detachableSince: ctx.clock.iso() },
          isDataMigrated: true,
        }),
    },
  ],
  onUndone: (ctx, { diskExtId }) =>
    changeDisk(ctx.store, diskExtId, { status: 'NORMAL', removal: undefined, isMarkedForRemoval: false }),
})

async function moveData(ctx: StepContext, { clusterExtId, diskExtId }: OfDisk): Promise<void> {
  let shown = moveFrom
  await ctx.drivers.hardware.evacuateDrive(
    clusterExtId,
    diskExtId,
    ctx.outputs['mark'] as Evacuation,
    async (share) => {
      throwIfCanceled(ctx)
      const disk = await ctx.store.get(Disk, diskExtId)
      if (disk?.removal?.isCalledOff === true)
        throw new CancelAccepted('The disk was added to the storage pool again before its data had moved.')
      const percentage = Math.floor(moveFrom + (moveTo - moveFrom) * share)
      if (percentage > shown) await ctx.progress(percentage)
      shown = Math.max(shown, percentage)
    },
  )
}

/** Skips a disk that has left with its cluster. */
export async function changeDisk(
  store: Transaction,
  diskExtId: string,
  {
    status,
    removal,
    ...flags
  }: Pick<DiskRow, 'status' | 'removal'> & Partial<NonNullable<DiskRow['diskAdvanceConfig']>>,
): Promise<void> {
  const disk = await store.get(Disk, diskExtId)
  if (disk === undefined) return
  const changes = status === 'DATA_MIGRATION_INITIATED' ? { status } : { status, removal }
  await store.update(Disk, diskExtId, { ...changes, diskAdvanceConfig: { ...disk.diskAdvanceConfig, ...flags } })
}
