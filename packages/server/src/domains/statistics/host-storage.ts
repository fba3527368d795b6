/** Storage of hosts over time. Source: behaviour clustermgmt.md 1.17. */
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import type { DriveState } from '../../drivers/telemetry.ts'
import type { ReadContext } from '../context.ts'
import { hostsOf, usableBytes } from '../storage-space/capacity.ts'
import { added, noData } from '../storage-space/stored-data.ts'
import { noStorage, type StorageOfHosts } from './host-sums.ts'
import { storageOver } from './storage-over.ts'

export interface DriveSums {
  /** Physical, without drives whose data is moving away. */
  readonly capacityBytes: number
  /** Share of the pool's data, relative to other hosts. */
  readonly weightBytes: number
}

/** Over the drives that worked, for each time. */
export async function driveSumsOf(
  { drivers }: Pick<ReadContext, 'drivers'>,
  hosts: readonly Host[],
  times: readonly number[],
): Promise<readonly DriveSums[]> {
  const lists = await Promise.all(hosts.map(({ extId }) => drivers.telemetry.readDrives(extId, times)))
  let sums: DriveSums = { capacityBytes: 0, weightBytes: 0 }
  return times.map((_, index) => {
    const isSame = index > 0 && lists.every((list) => list[index] === list[index - 1])
    return isSame ? sums : (sums = sumsOf(lists.flatMap((list) => list[index] as readonly DriveState[])))
  })
}

const sumsOf = (states: readonly DriveState[]): DriveSums => ({
  capacityBytes: states.reduce((sum, { sizeBytes, isLeaving }) => sum + (isLeaving ? 0 : usableBytes(sizeBytes)), 0),
  weightBytes: states.reduce((sum, { sizeBytes, share }) => sum + usableBytes(sizeBytes) * share, 0),
})

/** A host has the share of its drives. @param times milliseconds since 1970, ascending */
export async function storageOfHosts(
  ctx: ReadContext,
  clusterExtId: string,
  hosts: readonly Host[],
  times: readonly number[],
): Promise<(time: number) => StorageOfHosts> {
  const members = await hostsOf(ctx.store, clusterExtId)
  const own = await driveSumsOf(ctx, hosts, times)
  const all = hosts.length === members.length ? own : await driveSumsOf(ctx, members, times)
  const indexes = new Map(times.map((time, index) => [time, index]))
  const { containers, at } = await storageOver(ctx, clusterExtId, times)
  return (time) => {
    const index = indexes.get(time)
    if (index === undefined) return noStorage
    const { capacityBytes, weightBytes } = own[index] as DriveSums
    const totalWeight = (all[index] as DriveSums).weightBytes
    const part = totalWeight === 0 ? 0 : weightBytes / totalWeight
    const sums = at(time)
    const data = containers.map(({ extId }) => sums.get(extId) ?? noData).reduce(added, noData)
    const physicalBytes = Math.round(part * data.physicalBytes)
    return {
      capacityBytes,
      usageBytes: physicalBytes,
      physicalBytes,
      logicalBytes: Math.round(part * data.logicalBytes),
      copiedBytes: Math.round(part * data.copiedBytes),
      reclaimableBytes: Math.round(part * data.reclaimableBytes),
    }
  }
}
