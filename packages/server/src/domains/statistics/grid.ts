/** Source: specification 4.8; behaviour vmm.md 1.15; clustermgmt.md 1.17. */

import { ApiError } from '../../core/api-error.ts'
import { formatTime, parseTime } from '../../core/time/clock.ts'
import { readingSeconds } from '../../drivers/telemetry.ts'

export const statTypes = ['SUM', 'MIN', 'MAX', 'AVG', 'COUNT', 'LAST'] as const
export type StatType = (typeof statTypes)[number]

/** Points in (from, to], at multiples of the interval. All times are seconds since 1970. */
export interface Grid {
  readonly from: number
  readonly to: number
  readonly intervalSeconds: number
  /** Set if the requested interval gave too many points. */
  readonly widenedFrom?: number
}

export interface Bucket {
  readonly at: number
  readonly timestamp: string
  readonly times: readonly number[]
  /** Readings that each of `times` represents. */
  readonly weight: number
}

export const retentionSeconds = 90 * 24 * 3600
export const maximumPoints = 3000
/** If an interval has more readings, evenly spaced ones are used. */
const readingsOfPoint = 10
const readingsOfSpan = 240

type Parameters = Readonly<Record<string, unknown>>

/** @throws ApiError 400 when $startTime is not before $endTime */
export function spanOf(parameters: Parameters, now: number): { readonly from: number; readonly to: number } {
  const [start, end] = [parameters['$startTime'], parameters['$endTime']] as [string, string]
  const [from, to] = [parseTime(start) ?? 0, parseTime(end) ?? 0]
  if (from >= to) throw isNotBefore(start, end)
  // A reading exists only after its 30 s.
  return { from: Math.max(from / 1000, now / 1000 - retentionSeconds), to: Math.min(to, now) / 1000 }
}

/** In the words of the namespace that is asked; vmm has its text in two parts. */
function isNotBefore(start: string, end: string): ApiError {
  const [expected, found] = [`a time before $endTime (${end})`, `"${start}"`]
  const fault = `expected ${expected}, found ${found}`
  return new ApiError('INVALID_ARGUMENT', { attributePath: '$startTime', fault }, { extra: { expected, found } })
}

export function gridOf(
  span: { readonly from: number; readonly to: number },
  requestedSeconds: number,
  most = maximumPoints,
): Grid {
  const { from, to } = span
  const requested = Math.max(readingSeconds, requestedSeconds)
  const pointsAt = (interval: number): number => Math.max(0, Math.floor(to / interval) - Math.floor(from / interval))
  if (pointsAt(requested) <= most) return { from, to, intervalSeconds: requested }
  let interval = Math.ceil((to - from) / most / readingSeconds) * readingSeconds
  while (pointsAt(interval) > most) interval += readingSeconds
  return { from, to, intervalSeconds: interval, widenedFrom: requested }
}

export function warnOfWidening(ctx: { warn(message: string): void }, { widenedFrom, intervalSeconds }: Grid): void {
  if (widenedFrom === undefined) return
  ctx.warn(
    `$samplingInterval was widened from ${widenedFrom} s to ${intervalSeconds} s: the span has more points than an answer holds.`,
  )
}

export function bucketsOf(grid: Grid, most = readingsOfPoint): Bucket[] {
  const { from, to, intervalSeconds } = grid
  const buckets: Bucket[] = []
  for (let step = Math.floor(from / intervalSeconds) + 1; step * intervalSeconds <= to; step++) {
    const at = step * intervalSeconds
    buckets.push({ at, timestamp: formatTime(at * 1000), ...readingsIn(at - intervalSeconds, at, most) })
  }
  return buckets
}

export const singleBucketOf = ({ from, to }: { readonly from: number; readonly to: number }): Bucket => ({
  at: to,
  timestamp: formatTime(to * 1000),
  ...readingsIn(from, to, readingsOfSpan),
})

export function readingsIn(from: number, to: number, most = readingsOfPoint): Pick<Bucket, 'times' | 'weight'> {
  const first = Math.floor(from / readingSeconds) + 1
  const count = Math.max(0, Math.floor(to / readingSeconds) - first + 1)
  const taken = Math.min(count, most)
  const times = Array.from(
    { length: taken },
    (_, index) => (first - 1 + Math.round(((index + 1) * count) / taken)) * readingSeconds,
  )
  return { times, weight: taken === 0 ? 0 : count / taken }
}
