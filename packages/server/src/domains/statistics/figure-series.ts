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

const bucketsInTurn = 50

export async function sampledBuckets<S extends object>(
  buckets: readonly Bucket[],
  sumsAt: (times: readonly number[]) => readonly S[],
): Promise<readonly SampledBucket<S>[]> {
  const sampled: SampledBucket<S>[] = []
  for (const [index, bucket] of buckets.entries()) {
    if (index % bucketsInTurn === 0) await new Promise(setImmediate)
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
  const valueIn = ({ sums, mean, weight }: SampledBucket<S>): number => {
    if (type === 'AVG') return figure(mean as S)
    if (type === 'LAST') return figure(sums.at(-1) as S)
    const each = sums.map((one) => ({ value: figure(one) }))
    return folded(type, each, weight)?.['value'] as number
  }
  return buckets
    .filter(({ mean }) => mean !== undefined)
    .map((bucket) => ({ timestamp: bucket.timestamp, value: valueIn(bucket) }))
}

export function meanOfSums<S extends object>(sums: readonly S[]): S | undefined {
  if (sums.length < 2) return sums[0]
  const all = sums as readonly Readonly<Record<string, number>>[]
  const mean: Record<string, number> = {}
  for (const name of Object.keys(all[0] as object)) {
    let sum = 0
    for (const each of all) sum += each[name] as number
    mean[name] = Math.round(sum / all.length)
  }
  return mean as S
}

/** Milliseconds since 1970, ascending. */
export const timesOf = (buckets: readonly Bucket[]): number[] =>
  buckets.flatMap(({ times }) => times.map((time) => time * 1000))
