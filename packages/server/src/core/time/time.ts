/** Times are milliseconds since 1970 with a microsecond fraction; as text, RFC 3339 (conventions 3). */
import { type Instant, instantText, readInstant } from '@hyperplane/contract/time'

/** The last time before the year 10000 that a number can hold. */
export const lastTime = Date.UTC(10_000, 0, 1) - 1 / 32

/** UTC, exactly six fractional digits: texts sort as their times do. */
export function formatTime(ms: number): string {
  const second = Math.floor(ms / 1000)
  const micros = Math.round((ms - second * 1000) * 1000)
  return micros === 1_000_000
    ? `${secondText(second + 1)}.000000Z`
    : `${secondText(second)}.${String(micros).padStart(6, '0')}Z`
}

/** Consecutive times usually share the second. */
let lastSecond = { second: Number.NaN, text: '' }
function secondText(second: number): string {
  if (second !== lastSecond.second) lastSecond = { second, text: new Date(second * 1000).toISOString().slice(0, 19) }
  return lastSecond.text
}

/** RFC 3339 with an offset, years 1970-9999; else undefined. Truncated to microseconds; inexact after 2248 (`canonicalTime` is exact). */
export function parseTime(text: string): number | undefined {
  const instant = sinceEpoch(text)
  return instant && Math.min(instant.millis + instant.micros / 1000, lastTime)
}

/** Exact in every year; undefined where `parseTime` is. */
export function canonicalTime(text: string): string | undefined {
  const instant = sinceEpoch(text)
  return instant && instantText(instant)
}

function sinceEpoch(text: string): Instant | undefined {
  const instant = readInstant(text)
  return instant === undefined || instant.millis < 0 ? undefined : instant
}
