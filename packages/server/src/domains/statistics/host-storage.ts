/** Source: behaviour clustermgmt.md 1.17, 3 (Capacity). */
import type { EntityOf } from '@hyperplane/contract'
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import type { Drive } from '../../drivers/drives.ts'
import type { ReadContext } from '../context.ts'
import { copiesOf, hostsOf, poolUsage } from '../storage-space/capacity.ts'
import type { StorageOfHosts } from './host-sums.ts'

type HostEntity = EntityOf<typeof Host>

const dayMillis = 24 * 3600 * 1000
/** Each sample reads every disk of the cluster. */
const maximumSamples = 8

/**
 * Computed at some midnights of the span and interpolated. A host has the share of its drives.
 * @param times milliseconds since 1970
 */
export async function storageOver(
  ctx: ReadContext,
  clusterExtId: string,
  hosts: readonly HostEntity[],
  times: readonly number[],
): Promise<(time: number) => StorageOfHosts> {
  const all = await hostsOf(ctx.store, clusterExtId)
  const sizeOf = (some: readonly HostEntity[]): number =>
    some.flatMap(({ extId }) => ctx.drivers.hardware.drivesOf(extId)).reduce(pooledBytes, 0)
  const part = sizeOf(all) === 0 ? 0 : sizeOf(hosts) / sizeOf(all)
  const dayOf = (time: number): number => time / dayMillis
  const [first, last] = [dayOf(times[0] ?? 0), dayOf(times.at(-1) ?? 0)]
  const step = Math.ceil((last - first + 1) / maximumSamples)
  const sampleBefore = (day: number): number => Math.floor(day / step) * step
  const samples = new Map<number, StorageOfHosts>()
  for (let day = sampleBefore(first); day < last + step; day += step) {
    samples.set(day, await storageOn(ctx, clusterExtId, day * dayMillis))
    await new Promise(setImmediate)
  }
  return (time) => {
    const day = sampleBefore(dayOf(time))
    const [from, to] = [samples.get(day), samples.get(day + step)]
    const share = (dayOf(time) - day) / step
    const between = (name: keyof StorageOfHosts): number => {
      const [before, after] = [from?.[name] ?? 0, to?.[name] ?? 0]
      return Math.round(part * (before + (after - before) * share))
    }
    return {
      capacityBytes: between('capacityBytes'),
      usageBytes: between('usageBytes'),
      logicalBytes: between('logicalBytes'),
      unreducedBytes: between('unreducedBytes'),
    }
  }
}

const pooledBytes = (sum: number, { isInPool, sizeBytes }: Drive): number => (isInPool ? sum + sizeBytes : sum)

async function storageOn(ctx: ReadContext, clusterExtId: string, time: number): Promise<StorageOfHosts> {
  const pool = await poolUsage({ ...ctx, clock: { now: () => time } }, clusterExtId)
  let [logicalBytes, unreducedBytes] = [0, 0]
  for (const container of await ctx.store.findWhere(StorageContainer, { clusterExtId })) {
    const written = pool.containers.get(container.extId)?.logicalBytes ?? 0
    logicalBytes += written
    unreducedBytes += written * copiesOf(container)
  }
  return {
    capacityBytes: pool.capacityBytes,
    usageBytes: pool.capacityBytes - pool.freeBytes,
    logicalBytes,
    unreducedBytes,
  }
}
