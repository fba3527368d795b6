/** Finds DER values without copies: parts are compared byte by byte, lists exceed the limits of general parsers. */

export interface DerValue {
  readonly tag: number
  readonly start: number
  readonly content: number
  readonly end: number
}

export const derTag = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
} as const

const maximumOidBytes = 64

export class DerFault extends Error {
  override readonly name = 'DerFault'
}

export function derAt(bytes: Uint8Array, offset: number, limit = bytes.length): DerValue {
  const tag = bytes[offset]
  const first = bytes[offset + 1]
  if (tag === undefined || first === undefined || offset + 2 > limit) throw new DerFault('it ends too early')
  if ((tag & 0x1f) === 0x1f) throw new DerFault('it has a tag that is not expected')
  let content = offset + 2
  let length = first
  if (first >= 0x80) {
    const octets = first & 0x7f
    if (octets === 0 || octets > 4) throw new DerFault('it has a length that DER does not have')
    length = 0
    for (let index = 0; index < octets; index++) length = length * 256 + (bytes[content + index] ?? 0)
    content += octets
  }
  const end = content + length
  if (end > limit) throw new DerFault('it ends too early')
  return { tag, start: offset, content, end }
}

export function* derValuesIn(bytes: Uint8Array, outer: DerValue): Generator<DerValue> {
  for (let offset = outer.content; offset < outer.end; ) {
    const value = derAt(bytes, offset, outer.end)
    yield value
    offset = value.end
  }
}

/** Stops after `count` values: untrusted input may hold millions. @throws DerFault */
export function firstDerValuesIn(bytes: Uint8Array, outer: DerValue, count: number): DerValue[] {
  const values: DerValue[] = []
  for (const value of derValuesIn(bytes, outer)) if (values.push(value) === count) break
  return values
}

export function expectDer(value: DerValue | undefined, tag: number): DerValue {
  if (value === undefined || value.tag !== tag) throw new DerFault('it is built in another way than its kind')
  return value
}

/** Dotted form: `1.2.840.113549.1.1.11`. @throws DerFault */
export function oidOf(bytes: Uint8Array, value: DerValue): string {
  if (value.end - value.content > maximumOidBytes) throw new DerFault('it has an object identifier that is too long')
  const parts: number[] = []
  let part = 0
  for (const byte of bytes.subarray(value.content, value.end)) {
    part = part * 128 + (byte & 0x7f)
    if (byte < 0x80) {
      parts.push(part)
      part = 0
    }
  }
  const [first = 0, ...rest] = parts
  const root = Math.min(2, Math.floor(first / 40))
  return [root, first - 40 * root, ...rest].join('.')
}

/** In hex without leading zeros, the form in which serial numbers are compared. */
export const integerOf = (bytes: Uint8Array, value: DerValue): string =>
  Buffer.from(bytes.subarray(value.content, value.end))
    .toString('hex')
    .replace(/^0+(?=.)/, '')

/** Milliseconds since 1970. @throws DerFault */
export function timeOf(bytes: Uint8Array, value: DerValue): number {
  const text = Buffer.from(bytes.subarray(value.content, value.end)).toString('latin1')
  const match = /^(\d{2}|\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text)
  const isFourDigits = value.tag === derTag.generalizedTime
  if (match === null || match[1]?.length !== (isFourDigits ? 4 : 2)) throw new DerFault('it has a time that is none')
  const [year, month, day, hour, minute, second] = match.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  // Two digits mean 1950 to 2049 (RFC 5280 4.1.2.5.1).
  const fullYear = isFourDigits ? year : year + (year < 50 ? 2000 : 1900)
  return Date.UTC(fullYear, month - 1, day, hour, minute, second)
}

export const bytesOf = (bytes: Uint8Array, value: DerValue): Buffer =>
  Buffer.from(bytes.subarray(value.start, value.end))
