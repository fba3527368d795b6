/** Takes a drive into the pool, or calls its removal off. Source: behaviour clustermgmt.md 1.8 (addDisk). */
import type { ValueOf } from '@hyperplane/contract'
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Disk, type DiskAdditionSpec } from '@hyperplane/contract/clustermgmt/disk'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { ApiError, invalid } from '../../../core/api-error.ts'
import type { TaskStarted } from '../../../core/handlers.ts'
import { notFound } from '../../../core/standard.ts'
import type { Drive, PartitionType } from '../../../drivers/drives.ts'
import { isManager } from '../../containers/storage-containers.ts'
import { defineTask, type StepContext, taskAbout, type WriteContext } from '../../context.ts'
import { requireReachable } from '../../registrations/reachability.ts'
import { storageHostsOf } from '../../storage-space/capacity.ts'
import { type DiskRow, recordDisks } from '../../storage-space/disks.ts'
import { fairBytes } from '../../storage-space/drive-usage.ts'
import { clusterLosesHost, isLeaving } from '../../storage-space/leaving-hosts.ts'
import { changeDisk, driveOf, type OfDisk } from './removal.ts'

type Body = ValueOf<typeof DiskAdditionSpec>

interface Addition extends OfDisk {
  readonly partitionType: PartitionType
  /** The request ended a removal, which may have won. */
  readonly callsOff: boolean
}

export async function startAddition(
  ctx: WriteContext,
  cluster: Cluster,
  { serialNumber, diskPartitionInfo = { partitionType: 'EXT4' } }: Body,
): Promise<TaskStarted> {
  if (isManager(cluster))
    throw new ApiError('NOT_SUPPORTED_ON_MANAGER', { name: cluster.name, action: 'adding a disk' })
  requireReachable(ctx, cluster)
  const drive = await driveWith(ctx, cluster.extId, serialNumber)
  const host = await ctx.store.get(Host, drive.hostExtId)
  if (host !== undefined && isLeaving(host)) throw await clusterLosesHost(ctx.store, cluster)
  if (drive.fault !== undefined || !ctx.drivers.hardware.isHostUp(drive.hostExtId))
    throw new ApiError('DISK_UNHEALTHY', { serialNumber })
  const disk = await ctx.store.get(Disk, drive.extId)
  if (disk?.status === 'NORMAL' || disk?.removal?.isCalledOff === true)
    throw new ApiError('DISK_ALREADY_IN_USE', { serialNumber })
  const callsOff = disk?.removal?.taskExtId !== undefined
  if (!callsOff) requireReplacement(drive, diskPartitionInfo.driveReplacementOption)
  if (callsOff) await ctx.store.update(Disk, drive.extId, { removal: { ...disk.removal, isCalledOff: true } })
  const input: Addition = {
    diskExtId: drive.extId,
    hostExtId: drive.hostExtId,
    clusterExtId: cluster.extId,
    partitionType: diskPartitionInfo.partitionType ?? 'EXT4',
    callsOff,
  }
  // The addition waits for a task that removes the disk, because both have the same lock.
  const named = { extId: drive.extId, name: serialNumber }
  return ctx.startTask(addDisk, input, taskAbout('Add Disk', Disk, named, cluster.extId))
}

/** @throws ApiError 404 unless the drive is in a slot of a host that stores data */
async function driveWith({ store, drivers }: WriteContext, clusterExtId: string, serialNumber: string): Promise<Drive> {
  for (const { extId } of await storageHostsOf(store, clusterExtId)) {
    const drive = drivers.hardware.drivesOf(extId).find((each) => each.serialNumber === serialNumber)
    if (drive !== undefined && drive.fault?.kind !== 'PULLED') return drive
  }
  throw notFound(Disk, serialNumber, 'serialNumber')
}

type Replacement = NonNullable<Body['diskPartitionInfo']>['driveReplacementOption']

function requireReplacement({ sizeBytes, replacedBytes }: Drive, option: Replacement): void {
  if (option === undefined) return
  const path = 'diskPartitionInfo/driveReplacementOption'
  if (replacedBytes === undefined)
    throw invalid(path, `expected a drive that replaces another one; no drive was in its slot before`)
  if (option === 'RMA' && sizeBytes < replacedBytes)
    throw invalid(path, `expected at least ${replacedBytes} bytes, as the replaced drive had; found ${sizeBytes}`)
  if (option === 'CAPACITY_UPGRADE' && sizeBytes <= replacedBytes)
    throw invalid(path, `expected more than the ${replacedBytes} bytes of the replaced drive; found ${sizeBytes}`)
}

interface Before {
  readonly wasInPool: boolean
}

export const addDisk = defineTask<Addition>({
  name: 'clustermgmt.add-disk',
  steps: [
    {
      name: 'partition',
      progress: 60,
      seconds: [10, 30],
      run: async (ctx, input): Promise<Before> => {
        const drive = presentDrive(ctx, input)
        if (drive.isInPool) {
          if (!input.callsOff) throw new ApiError('DISK_ALREADY_IN_USE', { serialNumber: drive.serialNumber })
          return { wasInPool: true }
        }
        await ctx.drivers.hardware.partitionDrive(input.clusterExtId, input.diskExtId, input.partitionType)
        return { wasInPool: false }
      },
      // No undo: a partition of a drive outside the pool has no data.
    },
    {
      name: 'add to the pool',
      run: async (ctx, input) => {
        if (wasInPool(ctx)) return
        const bytes = await fairBytes(ctx, input.clusterExtId, presentDrive(ctx, input))
        await ctx.drivers.hardware.poolDrive(input.clusterExtId, input.diskExtId, bytes)
      },
      record: async (ctx, input) => {
        if (!(await ctx.store.has(Disk, input.diskExtId)))
          await recordDisks(ctx.store, input.hostExtId, [presentDrive(ctx, input)])
        else await changeDisk(ctx.store, input.diskExtId, inPool)
      },
      undo: async (ctx, { clusterExtId, diskExtId }) => {
        if (!wasInPool(ctx)) await ctx.drivers.hardware.unpoolDrive(clusterExtId, diskExtId)
      },
    },
  ],
})

const inPool: Pick<DiskRow, 'status' | 'removal'> & { readonly isMarkedForRemoval: boolean; isDataMigrated: boolean } =
  {
    status: 'NORMAL',
    removal: undefined,
    isMarkedForRemoval: false,
    isDataMigrated: false,
  }

const wasInPool = ({ outputs }: Pick<StepContext, 'outputs'>): boolean => (outputs['partition'] as Before).wasInPool

/** @throws ApiError 404 when the drive has left its slot */
function presentDrive({ drivers }: Pick<StepContext, 'drivers'>, input: Addition): Drive {
  const drive = driveOf(drivers, input)
  if (drive === undefined || drive.fault?.kind === 'PULLED') throw notFound(Disk, input.diskExtId, 'extId')
  return drive
}
