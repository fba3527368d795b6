/** Statistics as arrays without times: sample i is taken at the start plus i intervals. Source: behaviour networking.md 3.3. */
import { readingSeconds } from '../../drivers/telemetry.ts'
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

/** Adds a warning if the interval is widened. @param since creation of the entity, seconds since 1970 @throws ApiError 400 */
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
  const samples: Sample[] = []
  for (let at = from; at <= span.to; at += interval) samples.push(sampleAt(at, interval, type))
  return { type, samples }
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
