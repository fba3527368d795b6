/** RFC 3339. Equal texts in bodies and filters are equal instants. Source: behaviour conventions 3, 10.1. */

/** Whole milliseconds since 1970, and the microseconds (0-999) beyond them. */
export interface Instant {
  readonly millis: number
  readonly micros: number
}

const form = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::(\d\d)(?:\.(\d+))?)?(?:Z|([+-])(\d\d):(\d\d))$/i

/** Undefined for leap seconds and years outside 0000 to 9999 UTC; truncates to microseconds. @param seconds RFC 3339 requires them */
export function readInstant(text: string, seconds: 'required' | 'optional' = 'required'): Instant | undefined {
  const parts = form.exec(text)
  if (parts === null || (seconds === 'required' && parts[3] === undefined)) return undefined
  const [, date, minutes, second = '00', fraction = '', sign, offsetHours = '0', offsetMinutes = '0'] = parts
  if (Number(offsetHours) > 23 || Number(offsetMinutes) > 59) return undefined
  const local = `${date}T${minutes}:${second}.000Z`
  const milliseconds = Date.parse(local)
  // Date silently corrects 30 February and 24:00; the comparison refuses them.
  if (Number.isNaN(milliseconds) || new Date(milliseconds).toISOString() !== local) return undefined
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000 * (sign === '-' ? -1 : 1)
  const digits = fraction.slice(0, 6).padEnd(6, '0')
  const millis = milliseconds - offset + Number(digits.slice(0, 3))
  // An offset can lead out of the four-digit years.
  if (millis < firstMillis || millis >= endMillis) return undefined
  return { millis, micros: Number(digits.slice(3)) }
}

/** `2026-11-24T09:30:00.000000Z`; text order is time order. */
export const instantText = ({ millis, micros }: Instant): string =>
  `${new Date(millis).toISOString().slice(0, 23)}${String(micros).padStart(3, '0')}Z`

const firstMillis = Date.parse('0000-01-01T00:00:00.000Z')
const endMillis = Date.UTC(10_000, 0, 1)
