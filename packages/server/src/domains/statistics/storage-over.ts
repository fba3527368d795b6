/** Storage of a cluster over time. Source: behaviour clustermgmt.md 1.17, 3 (Capacity). */
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import type { ReadContext } from '../context.ts'
import { storageHostsOf } from '../storage-space/capacity.ts'
import { added, type DataSums, noData, type StoredData, storedData, sumsOfData } from '../storage-space/stored-data.ts'

export type Container = StorageContainer

export interface StorageOver {
  readonly containers: readonly Container[]
  /** By container id. @param time milliseconds since 1970 */
  at(time: number): ReadonlyMap<string, DataSums>
}

const dayMillis = 24 * 3600 * 1000
/** Each sample reads every disk of the cluster. */
const maximumSamples = 8

/** Linear between two midnights; data counts from its creation. @param times milliseconds since 1970, ascending */
export async function storageOver(
  ctx: ReadContext,
  clusterExtId: string,
  times: readonly number[],
): Promise<StorageOver> {
  const joined = (await storageHostsOf(ctx.store, clusterExtId)).map(({ extId }) =>
    ctx.drivers.hardware.memberSince(extId),
  )
  const hostsAt = (time: number): number => joined.filter((since) => since < time).length
  const containers = await ctx.store.findWhere(StorageContainer, { clusterExtId })
  const byId = new Map(containers.map((container) => [container.extId, container]))
  const [first, last] = [(times[0] ?? 0) / dayMillis, (times.at(-1) ?? 0) / dayMillis]
  const step = Math.ceil((last - first + 1) / maximumSamples)
  const sampleBefore = (day: number): number => Math.floor(day / step) * step
  const samples = new Map<number, readonly StoredData[]>()
  for (let day = sampleBefore(first); day < last + step; day += step) {
    const data: StoredData[] = []
    for await (const part of storedData(ctx, clusterExtId, containers, day * dayMillis)) data.push(...part)
    samples.set(day, data)
    await new Promise(setImmediate)
  }
  /** Erasure coding depends on the number of hosts. */
  const sampleOf = (day: number, hosts: number): Sample => {
    const around = { hosts, now: day * dayMillis }
    const sumsOf = (data: StoredData): DataSums => sumsOfData(byId.get(data.containerExtId) as Container, around, data)
    return new Map(
      samples.get(day)?.map((data) => [`${data.containerExtId}/${data.extId}`, { data, sums: sumsOf(data) }]),
    )
  }
  const spans = new Map<string, Span>()
  return {
    containers,
    at(time) {
      const day = sampleBefore(time / dayMillis)
      const hosts = hostsAt(time)
      const key = `${day}/${hosts}`
      let span = spans.get(key)
      if (span === undefined && samples.has(day) && samples.has(day + step)) {
        const end = (day + step) * dayMillis
        span = spanOf(sampleOf(day, hosts), sampleOf(day + step, hosts), day * dayMillis, end)
        spans.set(key, span)
      }
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
  const started = young.filter(({ from }) => from < time)
  const ends = started.length === 0 ? old : new Map(old)
  for (const { containerExtId, before, after } of started)
    (ends as Map<string, Ends>).set(containerExtId, joined(ends.get(containerExtId), { before, after }))
  const sums = new Map<string, DataSums>()
  for (const [containerExtId, { before, after }] of ends) sums.set(containerExtId, between(before, after, share))
  return sums
}

const figures = Object.keys(noData) as (keyof DataSums)[]

function between(before: DataSums, after: DataSums, share: number): DataSums {
  const sums = { ...noData } as { -readonly [Figure in keyof DataSums]: number }
  for (const figure of figures) sums[figure] = Math.round(before[figure] + (after[figure] - before[figure]) * share)
  return sums
}
