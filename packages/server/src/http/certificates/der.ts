/** Source: ITU-T X.690; RFC 5280 4.1.2.5 (times). */

function value(tag: number, content: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.concat(content)
  const { length } = bytes
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), bytes])
  const octets = length < 0x100 ? [length] : [length >> 8, length & 0xff]
  if (length > 0xffff) throw new RangeError(`a DER value of ${length} bytes is too long: at most 65535 are supported`)
  return Buffer.concat([Buffer.of(tag, 0x80 + octets.length, ...octets), bytes])
}

export const sequence = (...values: readonly Uint8Array[]): Buffer => value(0x30, values)
export const set = (...values: readonly Uint8Array[]): Buffer => value(0x31, values)
/** Signed and minimal: the first byte is below 0x80, and not 0 unless the second is 0x80 or more. */
export const integer = (...bytes: readonly number[]): Buffer => value(0x02, [Buffer.from(bytes)])
export const booleanTrue = (): Buffer => value(0x01, [Buffer.of(0xff)])
export const octets = (bytes: Uint8Array): Buffer => value(0x04, [bytes])
export const bits = (bytes: Uint8Array, unused = 0): Buffer => value(0x03, [Buffer.of(unused), bytes])
export const text = (content: string): Buffer => value(0x0c, [Buffer.from(content, 'utf8')])
export const implicit = (number: number, content: Uint8Array): Buffer => value(0x80 + number, [content])
export const explicit = (number: number, content: Uint8Array): Buffer => value(0xa0 + number, [content])

export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number)
  return value(0x06, [Buffer.from([first * 40 + second, ...others].flatMap(base128))])
}

function base128(part: number): number[] {
  const groups = [part & 0x7f]
  for (let rest = part >> 7; rest > 0; rest >>= 7) groups.unshift((rest & 0x7f) | 0x80)
  return groups
}

/** Whole seconds; years from 2050 on have four digits, earlier ones two. */
export function time(date: Date): Buffer {
  const digits = `${date.toISOString().slice(0, 19).replace(/\D/g, '')}Z`
  return date.getUTCFullYear() < 2050 ? value(0x17, [Buffer.from(digits.slice(2))]) : value(0x18, [Buffer.from(digits)])
}
