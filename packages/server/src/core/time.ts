/** Times are milliseconds since 1970 with a microsecond fraction; as text, RFC 3339 (conventions 3). */

const lastMillis = Date.UTC(10_000, 0, 1)
/** The last time before the year 10000 that a number can hold. */
const lastTime = lastMillis - 1 / 32

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/

/** `2026-11-24T09:30:00.000000Z`: UTC, exactly six fractional digits. Texts of this form sort as their times do. */
export function formatTime(ms: number): string {
  let whole = Math.floor(ms)
  let micros = Math.round((ms - whole) * 1000)
  if (micros === 1000) {
    whole += 1
    micros = 0
  }
  return `${new Date(whole).toISOString().slice(0, 23)}${String(micros).padStart(3, '0')}Z`
}

/**
 * The time of an RFC 3339 text with an offset; `undefined` for anything else and for years outside 1970-9999. Digits beyond
 * microseconds are cut off. Exact to the microsecond until the year 2248; later a number holds tens of microseconds: to keep such
 * a time to the letter, use `canonicalTime`.
 */
export function parseTime(text: string): number | undefined {
  const parts = splitTime(text)
  return parts && Math.min(parts.millis + parts.micros / 1000, lastTime)
}

/** The same time in the form of `formatTime`, exact in every year; `undefined` where `parseTime` is. */
export function canonicalTime(text: string): string | undefined {
  const parts = splitTime(text)
  return parts && `${new Date(parts.millis).toISOString().slice(0, 23)}${String(parts.micros).padStart(3, '0')}Z`
}

/** Whole milliseconds, and the microseconds (0-999) beyond them. */
function splitTime(text: string): { millis: number; micros: number } | undefined {
  const match = rfc3339.exec(text)
  if (match === null) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const offsetHours = Number(match[9] ?? 0)
  const offsetMinutes = Number(match[10] ?? 0)
  // Date.UTC takes 30 February for 2 March; a day that moved was none. Leap seconds are not accepted.
  const utc = Date.UTC(year, month - 1, day, hour, minute, second)
  if (new Date(utc).getUTCDate() !== day || month < 1 || month > 12) return undefined
  if (hour > 23 || minute > 59 || second > 59 || offsetHours > 23 || offsetMinutes > 59) return undefined

  const offset = (offsetHours * 60 + offsetMinutes) * 60_000 * (match[8] === '-' ? -1 : 1)
  const fraction = (match[7] ?? '').slice(0, 6).padEnd(6, '0')
  const millis = utc - offset + Number(fraction.slice(0, 3))
  if (year < 1969 || millis < 0 || millis >= lastMillis) return undefined
  return { millis, micros: Number(fraction.slice(3)) }
}
