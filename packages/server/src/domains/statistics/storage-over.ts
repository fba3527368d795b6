/** Storage of a cluster in the course of time. Source: behaviour clustermgmt.md 1.17, 3 (Capacity). */
import type { EntityOf } from '@hyperplane/contract'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import type { ReadContext } from '../context.ts'
import { hostCapacity, storageHostsOf } from '../storage-space/capacity.ts'
import { added, type DataSums, noData, type StoredData, storedData, sumsOfData } from '../storage-space/stored-data.ts'

export type Container = EntityOf<typeof StorageContainer>

export interface StorageOver {
  readonly containers: readonly Container[]
  /** Physical. */
  readonly capacityBytes: number
  /** By container id. @param time milliseconds since 1970 */
  at(time: number): ReadonlyMap<string, DataSums>
}

const dayMillis = 24 * 3600 * 1000
/** Each sample reads every disk of the cluster. */
const maximumSamples = 8

/**
 * Data grows between two midnights along a straight line, and counts from the time at which it was made.
 * @param times milliseconds since 1970, ascending
 */
export async function storageOver(
  ctx: ReadContext,
  clusterExtId: string,
  times: readonly number[],
): Promise<StorageOver> {
  const hosts = await storageHostsOf(ctx.store, clusterExtId)
  const containers = await ctx.store.findWhere(StorageContainer, { clusterExtId })
  const byId = new Map(containers.map((container) => [container.extId, container]))
  const [first, last] = [(times[0] ?? 0) / dayMillis, (times.at(-1) ?? 0) / dayMillis]
  const step = Math.ceil((last - first + 1) / maximumSamples)
  const sampleBefore = (day: number): number => Math.floor(day / step) * step
  const samples = new Map<number, Sample>()
  for (let day = sampleBefore(first); day < last + step; day += step) {
    const now = day * dayMillis
    const data = await storedData(ctx, clusterExtId, containers, now)
    const sumsOf = (one: StoredData): DataSums =>
      sumsOfData(byId.get(one.containerExtId) as Container, { hosts: hosts.length, now }, one)
    samples.set(
      day,
      new Map(data.map((one) => [`${one.containerExtId}/${one.extId}`, { data: one, sums: sumsOf(one) }])),
    )
    await new Promise(setImmediate)
  }
  const spans = new Map<number, Span>()
  for (const day of samples.keys())
    if (samples.has(day + step))
      spans.set(day, spanOf(samples.get(day)!, samples.get(day + step)!, day * dayMillis, (day + step) * dayMillis))
  return {
    containers,
    capacityBytes: hosts.reduce((sum, host) => sum + hostCapacity(host, ctx.drivers.hardware), 0),
    at(time) {
      const day = sampleBefore(time / dayMillis)
      const span = spans.get(day)
      return span === undefined ? new Map() : sumsAt(span, time, (time / dayMillis - day) / step)
    },
  }
}

type Sample = ReadonlyMap<string, { readonly data: StoredData; readonly sums: DataSums }>

interface Ends {
  readonly before: DataSums
  readonly after: DataSums
}

interface Span {
  /** Sums over the data that is older than the span, by container id. */
  readonly old: ReadonlyMap<string, Ends>
  readonly young: readonly (Ends & { readonly containerExtId: string; readonly from: number })[]
}

function spanOf(before: Sample, after: Sample, start: number, end: number): Span {
  const old = new Map<string, Ends>()
  const young: Span['young'][number][] = []
  for (const [key, { data, sums }] of after) {
    const { containerExtId, from = 0 } = data
    const ends = { before: before.get(key)?.sums ?? noData, after: sums }
    if (from >= end) continue
    if (from > start) young.push({ ...ends, containerExtId, from })
    else old.set(containerExtId, joined(old.get(containerExtId), ends))
  }
  return { old, young }
}

const joined = (sum: Ends | undefined, one: Ends): Ends =>
  sum === undefined ? one : { before: added(sum.before, one.before), after: added(sum.after, one.after) }

/** @param share of the span that has passed */
function sumsAt({ old, young }: Span, time: number, share: number): ReadonlyMap<string, DataSums> {
  const ends = new Map(old)
  for (const { containerExtId, from, before, after } of young)
    if (from < time) ends.set(containerExtId, joined(ends.get(containerExtId), { before, after }))
  return new Map(
    [...ends].map(([containerExtId, { before, after }]) => [containerExtId, between(before, after, share)]),
  )
}

function between(before: DataSums, after: DataSums, share: number): DataSums {
  const names = Object.keys(before) as (keyof DataSums)[]
  return Object.fromEntries(
    names.map((name) => [name, Math.round(before[name] + (after[name] - before[name]) * share)]),
  ) as unknown as DataSums
}
