/** Series of figures that derive from sums over several entities. Source: behaviour clustermgmt.md 1.17. */
import type { Bucket, StatType } from './grid.ts'
import { folded } from './series.ts'

export interface TimeValue {
  readonly timestamp: string
  readonly value: number
}

export interface SampledBucket<S> extends Bucket {
  readonly sums: readonly S[]
  /** Undefined: nothing was measured. */
  readonly mean: S | undefined
}

/** The event loop gets a turn before each bucket. */
export async function sampledBuckets<S extends object>(
  buckets: readonly Bucket[],
  sumsAt: (times: readonly number[]) => readonly S[],
): Promise<readonly SampledBucket<S>[]> {
  const sampled: SampledBucket<S>[] = []
  for (const bucket of buckets) {
    await new Promise(setImmediate)
    const sums = sumsAt(bucket.times.map((time) => time * 1000))
    sampled.push({ ...bucket, sums, mean: meanOfSums(sums) })
  }
  return sampled
}

/** Averages sums before deriving figures, so that shares and latencies stay consistent. */
export function figureSeries<S>(
  buckets: readonly SampledBucket<S>[],
  figure: (sums: S) => number,
  type: StatType,
): TimeValue[] {
  return buckets.flatMap(({ timestamp, sums, mean, weight }): TimeValue[] => {
    const last = sums.at(-1)
    if (last === undefined || mean === undefined) return []
    if (type === 'AVG') return [{ timestamp, value: figure(mean) }]
    if (type === 'LAST') return [{ timestamp, value: figure(last) }]
    const each = sums.map((one) => ({ value: figure(one) }))
    return [{ timestamp, value: folded(type, each, weight)?.['value'] as number }]
  })
}

export function meanOfSums<S extends object>(sums: readonly S[]): S | undefined {
  if (sums.length < 2) return sums[0]
  const all = sums as readonly Readonly<Record<string, number>>[]
  const names = Object.keys(all[0] as object)
  return Object.fromEntries(
    names.map((name) => [name, Math.round(all.reduce((sum, each) => sum + (each[name] as number), 0) / all.length)]),
  ) as S
}

/** Milliseconds since 1970, ascending. */
export const timesOf = (buckets: readonly Bucket[]): number[] =>
  buckets.flatMap(({ times }) => times.map((time) => time * 1000))
