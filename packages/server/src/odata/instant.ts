const shape = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::(\d\d)(?:\.(\d{1,12}))?)?(?:Z|([+-])(\d\d):(\d\d))$/i

/**
 * The instant that an RFC 3339 text with an offset names, as the store keeps it: UTC, six fractional digits
 * (further ones are cut, as they are when a body is stored). Undefined for any other text.
 */
export function instantOf(text: string): string | undefined {
  const parts = shape.exec(text)
  if (parts === null) return undefined
  const [, date = '', minutes = '', seconds = '00', fraction = '', sign, offsetHours = '0', offsetMinutes = '0'] = parts
  if (Number(offsetHours) > 23 || Number(offsetMinutes) > 59) return undefined
  const local = `${date}T${minutes}:${seconds}.000Z`
  const milliseconds = Date.parse(local)
  // The comparison refuses what Date corrects silently: 30 February, 24:00.
  if (Number.isNaN(milliseconds) || new Date(milliseconds).toISOString() !== local) return undefined
  const offset = (Number(offsetHours) * 60 + Number(offsetMinutes)) * 60_000
  const utc = new Date(sign === '-' ? milliseconds + offset : milliseconds - offset).toISOString()
  // An offset can lead out of the four-digit years.
  if (utc.length !== local.length) return undefined
  return `${utc.slice(0, 19)}.${fraction.slice(0, 6).padEnd(6, '0')}Z`
}
