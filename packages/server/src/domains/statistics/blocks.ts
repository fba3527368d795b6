/** I/O of volume groups by VMs and external clients. Times are milliseconds since 1970. Source: behaviour volumes-storage.md 1.7, 3. */
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { pathOf } from '../../core/standard.ts'
import type { BlockDiskRef, ServedReading, Telemetry } from '../../drivers/telemetry.ts'
import { anyOf } from '../../odata/index.ts'
import { withEffectiveFlash } from '../block-volumes/disks.ts'
import type { ReadContext } from '../context.ts'
import { storageHostsOf } from '../storage-space/capacity.ts'

export interface Blocks {
  readonly disks: readonly BlockDisk[]
  readonly hostExtIds: readonly string[]
}

export interface BlockDisk extends BlockDiskRef {
  readonly containerExtId: string
  readonly createdAt: number
}

export const readingsInTurn = 4000

export async function blocksOfCluster(ctx: ReadContext, clusterExtId: string): Promise<Blocks> {
  const containers = await ctx.store.findWhere(StorageContainer, { clusterExtId })
  const ids = containers.map(({ extId }) => extId)
  const disks =
    ids.length === 0
      ? []
      : await ctx.store.find(VolumeDisk, { filter: anyOf(pathOf(VolumeDisk, 'storageContainerId'), ids) })
  return blocksOfDisks(ctx, clusterExtId, disks)
}

export async function blocksOfDisks(
  ctx: ReadContext,
  clusterExtId: string,
  disks: readonly VolumeDisk[],
): Promise<Blocks> {
  const groupIds = [...new Set(disks.map(({ volumeGroupExtId }) => volumeGroupExtId as string))]
  const groups = new Map((await ctx.store.getMany(VolumeGroup, groupIds)).map((group) => [group.extId, group]))
  const usages = await ctx.drivers.blockStorage.usageOf(disks.map(({ extId }) => extId))
  const hosts = await storageHostsOf(ctx.store, clusterExtId)
  return {
    hostExtIds: hosts.map(({ extId }) => extId),
    disks: disks.map((disk) => {
      const { extId, index = 0, storageContainerId = '', volumeGroupExtId = '' } = disk
      const { diskStorageFeatures } = withEffectiveFlash(groups.get(volumeGroupExtId), disk)
      const isFlash = diskStorageFeatures?.flashMode?.isEnabled === true
      const createdAt = usages.get(extId)?.createdAt ?? 0
      return { extId, index, isFlash, volumeGroupExtId, containerExtId: storageContainerId, createdAt }
    }),
  }
}

/** @param times ascending @param visit gets the index of the time, and one part of the load */
export async function readBlocks(
  telemetry: Telemetry,
  { disks, hostExtIds }: Blocks,
  times: readonly number[],
  visit: (index: number, part: ServedReading, disk: BlockDisk) => void,
): Promise<void> {
  let read = 0
  for (const disk of disks) {
    const readings = await telemetry.readBlockDisk(disk, hostExtIds, times)
    for (const [index, parts] of readings.entries())
      if ((times[index] as number) > disk.createdAt) for (const part of parts) visit(index, part, disk)
    read += times.length
    if (read >= readingsInTurn) {
      read = 0
      await new Promise(setImmediate)
    }
  }
}
