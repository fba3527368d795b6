/** When a placement that failed is tried again: after 1, 2, 4 ... at most 60 minutes. */
import { type Clock, formatTime, parseTime } from '../../../core/time/clock.ts'

export interface Retry {
  readonly failures: number
  readonly notBefore: string
  readonly cause: string
}

const minuteMillis = 60_000
const longestMinutes = 60

/** @param cause what is placed where; another cause restarts at one minute */
export function nextRetry(former: Retry | undefined, cause: string, clock: Clock): Retry {
  const failures = former?.cause === cause ? former.failures + 1 : 1
  const minutes = Math.min(2 ** (failures - 1), longestMinutes)
  return { failures, cause, notBefore: formatTime(clock.now() + minutes * minuteMillis) }
}

/** Milliseconds since 1970; undefined: at once. */
export const notBeforeOf = (retry: Retry | undefined, cause: string): number | undefined =>
  retry?.cause === cause ? parseTime(retry.notBefore) : undefined
