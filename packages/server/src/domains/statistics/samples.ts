/** Arrays without times: sample i is taken at the start plus i intervals. Source: behaviour networking.md 3.3. */
import { readingSeconds } from '../../drivers/telemetry.ts'
import { applySelection } from '../../odata/index.ts'
import type { ReadContext } from '../context.ts'
import { type Request, typeOf } from './answers.ts'
import { maximumPoints, readingsIn, type StatType, spanOf } from './grid.ts'

export interface Sampling {
  readonly type: StatType
  readonly samples: readonly Sample[]
}

export interface Sample {
  /** Ends of its readings; seconds since 1970. */
  readonly times: readonly number[]
  /** Readings that each of `times` represents. */
  readonly weight: number
}

/** Warns of a widened interval; a paged operation gets the samples of its page. @param since seconds since 1970 @throws ApiError 400 */
export function samplingOf(ctx: ReadContext, request: Request, since: number, most = maximumPoints): Sampling {
  const { parameters } = request.query
  const span = spanOf(parameters, ctx.clock.now())
  const from = Math.max(span.from, since)
  const requested = Math.max(readingSeconds, parameters['$samplingInterval'] as number)
  const length = span.to - from
  const widest = Math.ceil(length / (most - 1) / readingSeconds) * readingSeconds
  const interval = Math.floor(length / requested) + 1 > most ? widest : requested
  if (interval !== requested)
    ctx.warn(
      `$samplingInterval was widened from ${requested} s to ${interval} s: the span has more points than an answer holds.`,
    )
  const type = typeOf(request)
  const total = length < 0 ? 0 : Math.floor(length / interval) + 1
  const { page, limit } = request.query
  const [first, end] = ctx.operation.paged ? [page * limit, Math.min(total, (page + 1) * limit)] : [0, total]
  const samples: Sample[] = []
  for (let index = first; index < end; index++) samples.push(sampleAt(from + index * interval, interval, type))
  return { type, samples }
}

/** Ends of the readings of all samples, in their order; milliseconds since 1970. */
export const timesOf = ({ samples }: Sampling): readonly number[] =>
  samples.flatMap(({ times }) => times.map((time) => time * 1000))

/** One value for each sample. @param readings one for each of `timesOf` @param counters fields that only grow: the last value counts */
export function seriesOf<const N extends string>(
  { type, samples }: Sampling,
  readings: readonly Readonly<Record<N, number>>[],
  names: readonly N[],
  counters: ReadonlySet<string> = new Set(),
): Record<N, number[]> {
  const series = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<N, number[]>
  let next = 0
  for (const { times, weight } of samples) {
    const own = readings.slice(next, next + times.length)
    next += times.length
    for (const name of names) {
      const values = own.map((reading) => reading[name])
      series[name].push(combined(counters.has(name) && type !== 'COUNT' ? 'LAST' : type, values, weight))
    }
  }
  return series
}

export const inText = <N extends string>(series: Readonly<Record<N, readonly number[]>>): Record<N, string[]> =>
  Object.fromEntries(
    Object.entries<readonly number[]>(series).map(([name, values]) => [name, values.map(String)]),
  ) as Record<N, string[]>

/** `$select` keeps `extId` and `statType`. */
export function sampledAnswer<A extends { readonly extId: string; readonly statType: StatType }>(
  { query: { select } }: Request,
  stats: A,
): A {
  const { extId, statType } = stats
  return select === undefined ? stats : { ...(applySelection(select, stats) as A), extId, statType }
}

function sampleAt(at: number, interval: number, type: StatType): Sample {
  const { times, weight } = readingsIn(at - interval, at)
  return type === 'LAST' ? { times: times.slice(-1), weight: 1 } : { times, weight }
}

/** @param values of the sample's readings, which are whole numbers @returns a whole number */
export function combined(type: StatType, values: readonly number[], weight: number): number {
  const sum = values.reduce((all, one) => all + one, 0)
  switch (type) {
    case 'SUM':
      return Math.round(sum * weight)
    case 'AVG':
      return values.length === 0 ? 0 : Math.round(sum / values.length)
    case 'COUNT':
      return Math.round(values.length * weight)
    case 'LAST':
      return values.at(-1) ?? 0
    case 'MIN':
      return values.length === 0 ? 0 : Math.min(...values)
    case 'MAX':
      return values.length === 0 ? 0 : Math.max(...values)
  }
}
