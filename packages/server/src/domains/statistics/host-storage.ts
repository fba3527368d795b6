/** Source: behaviour clustermgmt.md 1.17, 3 (Capacity). */
import type { EntityOf } from '@hyperplane/contract'
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import type { ReadContext } from '../context.ts'
import { copiesOf, hostCapacity, hostsOf, poolUsage } from '../storage-space/capacity.ts'
import { heldBytes, workingDrives } from '../storage-space/drive-usage.ts'
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
  const { hardware } = ctx.drivers
  const [ownDrives, allDrives] = [workingDrives(hardware, hosts), workingDrives(hardware, all)]
  const capacityBytes = hosts.reduce((sum, host) => sum + hostCapacity(host, hardware), 0)
  const dayOf = (time: number): number => time / dayMillis
  const [first, last] = [dayOf(times[0] ?? 0), dayOf(times.at(-1) ?? 0)]
  const step = Math.ceil((last - first + 1) / maximumSamples)
  const sampleBefore = (day: number): number => Math.floor(day / step) * step
  const samples = new Map<number, StorageOfPool>()
  for (let day = sampleBefore(first); day < last + step; day += step) {
    samples.set(day, await storageOn(ctx, clusterExtId, day * dayMillis))
    await new Promise(setImmediate)
  }
  return (time) => {
    const day = sampleBefore(dayOf(time))
    const [from, to] = [samples.get(day), samples.get(day + step)]
    const share = (dayOf(time) - day) / step
    const whole = heldBytes(allDrives, time)
    const part = whole === 0 ? 0 : heldBytes(ownDrives, time) / whole
    const between = (name: keyof StorageOfPool): number => {
      const [before, after] = [from?.[name] ?? 0, to?.[name] ?? 0]
      return Math.round(part * (before + (after - before) * share))
    }
    return {
      capacityBytes,
      usageBytes: between('usageBytes'),
      logicalBytes: between('logicalBytes'),
      unreducedBytes: between('unreducedBytes'),
    }
  }
}

type StorageOfPool = Omit<StorageOfHosts, 'capacityBytes'>

async function storageOn(ctx: ReadContext, clusterExtId: string, time: number): Promise<StorageOfPool> {
  const pool = await poolUsage({ ...ctx, clock: { now: () => time } }, clusterExtId)
  let [logicalBytes, unreducedBytes, usageBytes] = [0, 0, 0]
  for (const container of await ctx.store.findWhere(StorageContainer, { clusterExtId })) {
    const written = pool.containers.get(container.extId)?.logicalBytes ?? 0
    logicalBytes += written
    usageBytes += pool.containers.get(container.extId)?.physicalBytes ?? 0
    unreducedBytes += written * copiesOf(container)
  }
  return { usageBytes, logicalBytes, unreducedBytes }
}
