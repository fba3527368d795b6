/** Times are milliseconds since 1970 with a microsecond fraction; as text, RFC 3339 (conventions 3). */
import { type Instant, instantText, readInstant } from '@hyperplane/contract/time'

/** The last time before the year 10000 that a number can hold. */
export const lastTime = Date.UTC(10_000, 0, 1) - 1 / 32

/** `2026-11-24T09:30:00.000000Z`: UTC, exactly six fractional digits. Texts of this form sort as their times do. */
export function formatTime(ms: number): string {
  const second = Math.floor(ms / 1000)
  const micros = Math.round((ms - second * 1000) * 1000)
  return micros === 1_000_000
    ? `${secondText(second + 1)}.000000Z`
    : `${secondText(second)}.${String(micros).padStart(6, '0')}Z`
}

/** Cache of the last result: consecutive times usually share the second. */
let lastSecond = { second: Number.NaN, text: '' }
function secondText(second: number): string {
  if (second !== lastSecond.second) lastSecond = { second, text: new Date(second * 1000).toISOString().slice(0, 19) }
  return lastSecond.text
}

/**
 * The time of an RFC 3339 text with an offset; `undefined` for anything else and for years outside 1970-9999. Digits beyond
 * microseconds are cut off. Exact to the microsecond until the year 2248; later a number holds tens of microseconds: to keep such
 * a time to the letter, use `canonicalTime`.
 */
export function parseTime(text: string): number | undefined {
  const instant = sinceEpoch(text)
  return instant && Math.min(instant.millis + instant.micros / 1000, lastTime)
}

/** The text in the form of `formatTime`, exact in every year; `undefined` where `parseTime` is. */
export function canonicalTime(text: string): string | undefined {
  const instant = sinceEpoch(text)
  return instant && instantText(instant)
}

function sinceEpoch(text: string): Instant | undefined {
  const instant = readInstant(text)
  return instant === undefined || instant.millis < 0 ? undefined : instant
}
