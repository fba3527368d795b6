/**
 * Times as the interface writes them: RFC 3339, with an offset. One reader for bodies and for filters, so that a text names the
 * same instant wherever it stands. Source: behaviour conventions 3, 10.1.
 */

/** A point in time: whole milliseconds since 1970, and the microseconds (0-999) beyond them. */
export interface Instant {
  readonly millis: number
  readonly micros: number
}

const form = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::(\d\d)(?:\.(\d+))?)?(?:Z|([+-])(\d\d):(\d\d))$/i

/**
 * The instant that the text names, in the years 0000 to 9999 of UTC; undefined for any other text, and for a leap second.
 * Digits beyond microseconds are cut off.
 * @param seconds RFC 3339 requires them; a literal of the query language may leave them out
 */
export function readInstant(text: string, seconds: 'required' | 'optional' = 'required'): Instant | undefined {
  const parts = form.exec(text)
  if (parts === null || (seconds === 'required' && parts[3] === undefined)) return undefined
  const [, date, minutes, second = '00', fraction = '', sign, offsetHours = '0', offsetMinutes = '0'] = parts
  if (Number(offsetHours) > 23 || Number(offsetMinutes) > 59) return undefined
  const local = `${date}T${minutes}:${second}.000Z`
  const whole = Date.parse(local)
  // The comparison refuses what Date corrects silently: 30 February, 24:00.
  if (Number.isNaN(whole) || new Date(whole).toISOString() !== local) return undefined
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000 * (sign === '-' ? -1 : 1)
  const digits = fraction.slice(0, 6).padEnd(6, '0')
  const millis = whole - offset + Number(digits.slice(0, 3))
  // An offset can lead out of the four-digit years.
  if (millis < firstMillis || millis >= endMillis) return undefined
  return { millis, micros: Number(digits.slice(3)) }
}

/** `2026-11-24T09:30:00.000000Z`: UTC, exactly six fractional digits. Texts of this form sort as their instants do. */
export const instantText = ({ millis, micros }: Instant): string =>
  `${new Date(millis).toISOString().slice(0, 23)}${String(micros).padStart(3, '0')}Z`

const firstMillis = Date.parse('0000-01-01T00:00:00.000Z')
/** The first that is too late. */
const endMillis = Date.UTC(10_000, 0, 1)
