/** Storage of hosts. Source: behaviour clustermgmt.md 1.17. */
import type { EntityOf } from '@hyperplane/contract'
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import type { Drive } from '../../drivers/drives.ts'
import type { ReadContext } from '../context.ts'
import { hostsOf, physicallyReserved } from '../storage-space/capacity.ts'
import { added, noData } from '../storage-space/stored-data.ts'
import { noStorage, type StorageOfHosts } from './host-sums.ts'
import { storageOver } from './storage-over.ts'

type HostEntity = EntityOf<typeof Host>

/** A host has the share of its drives. @param times milliseconds since 1970, ascending */
export async function storageOfHosts(
  ctx: ReadContext,
  clusterExtId: string,
  hosts: readonly HostEntity[],
  times: readonly number[],
): Promise<(time: number) => StorageOfHosts> {
  const all = await hostsOf(ctx.store, clusterExtId)
  const sizeOf = (some: readonly HostEntity[]): number =>
    some.flatMap(({ extId }) => ctx.drivers.hardware.drivesOf(extId)).reduce(pooledBytes, 0)
  const part = sizeOf(all) === 0 ? 0 : sizeOf(hosts) / sizeOf(all)
  const { containers, capacityBytes, at } = await storageOver(ctx, clusterExtId, times)
  return (time) => {
    const sums = at(time)
    let [whole, usageBytes] = [noData, 0]
    for (const container of containers) {
      const own = sums.get(container.extId) ?? noData
      whole = added(whole, own)
      usageBytes += Math.max(own.physicalBytes, physicallyReserved(container, ctx.drivers))
    }
    const { logicalBytes, copiedBytes, physicalBytes, reclaimableBytes } = whole
    const cluster = { logicalBytes, copiedBytes, physicalBytes, reclaimableBytes, capacityBytes }
    const all: StorageOfHosts = { ...cluster, usageBytes: Math.min(usageBytes, capacityBytes) }
    return Object.fromEntries(
      Object.keys(noStorage).map((name) => [name, Math.round(part * all[name as keyof StorageOfHosts])]),
    ) as unknown as StorageOfHosts
  }
}

const pooledBytes = (sum: number, { isInPool, sizeBytes }: Drive): number => (isInPool ? sum + sizeBytes : sum)
