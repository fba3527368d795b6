/** Addresses as numbers, so that all spellings compare equal. Source: behaviour networking.md 1.1; RFC 4291, RFC 5952. */
export type Family = 'IPV4' | 'IPV6'

export interface Address {
  readonly family: Family
  readonly value: bigint
}

export interface AddressRange {
  readonly first: bigint
  readonly last: bigint
}

export interface Prefix extends AddressRange {
  readonly family: Family
  readonly length: number
}

/** Exactly one field is set. */
export interface WireAddress {
  readonly ipv4?: { readonly value: string; readonly prefixLength?: number }
  readonly ipv6?: { readonly value: string; readonly prefixLength?: number }
}

export interface WirePrefix {
  readonly ip: { readonly value: string; readonly prefixLength?: number }
  readonly prefixLength: number
}

export const bitsOf = (family: Family): number => (family === 'IPV4' ? 32 : 128)

/** Refuses zone ids. @returns undefined for an invalid text */
export function parseAddress(family: Family, text: string): Address | undefined {
  const value = family === 'IPV4' ? parseV4(text) : parseV6(text)
  return value === undefined ? undefined : { family, value }
}

export function formatAddress({ family, value }: Address): string {
  return family === 'IPV4' ? formatV4(value) : formatV6(value)
}

/** @returns an error text for an invalid address */
export function readAddress(given: WireAddress): Address | string {
  const { ipv4, ipv6 } = given
  if ((ipv4 === undefined) === (ipv6 === undefined)) return 'expected exactly one of ipv4 and ipv6'
  const [family, text] = ipv4 === undefined ? (['IPV6', ipv6!.value] as const) : (['IPV4', ipv4.value] as const)
  return parseAddress(family, text) ?? `expected an ${family === 'IPV4' ? 'IPv4' : 'IPv6'} address, found "${text}"`
}

/** With the full prefix length, which public clients expect. */
export function writeAddress(address: Address): {
  ipv4?: { value: string; prefixLength: number }
  ipv6?: { value: string; prefixLength: number }
} {
  const shown = { value: formatAddress(address), prefixLength: bitsOf(address.family) }
  return address.family === 'IPV4' ? { ipv4: shown } : { ipv6: shown }
}

/** Canonical; undefined: absent, or not an address. */
export function textOf(given: WireAddress | undefined): string | undefined {
  const address = given && readAddress(given)
  return typeof address === 'object' ? formatAddress(address) : undefined
}

/** Canonical, with the prefix length that the client sent. @throws Error for an invalid address */
export function writeAsGiven(given: WireAddress): ReturnType<typeof writeAddress> {
  const address = readAddress(given)
  if (typeof address === 'string') throw new Error(address)
  const written = writeAddress(address)
  const prefixLength = (given.ipv4 ?? given.ipv6)?.prefixLength ?? bitsOf(address.family)
  return written.ipv4 === undefined
    ? { ipv6: { ...written.ipv6!, prefixLength } }
    : { ipv4: { ...written.ipv4, prefixLength } }
}

/** Public clients may send 0 as the length, and put the length into the address. */
export function prefixLengthOf(family: Family, { ip, prefixLength }: WirePrefix): number {
  const ofAddress = ip.prefixLength ?? bitsOf(family)
  return prefixLength === 0 && ofAddress !== bitsOf(family) ? ofAddress : prefixLength
}

/** @returns the reason; undefined for a valid host address */
export function notAHost({ family, value }: Address): string | undefined {
  if (family === 'IPV4') {
    if (value === 0n) return 'the unspecified address is no host'
    if (value >> 24n === 127n) return 'a loopback address is no host on a network'
    return value >> 28n === 14n ? 'a multicast address is no host' : undefined
  }
  if (value === 0n) return 'the unspecified address is no host'
  if (value === 1n) return 'the loopback address is no host on a network'
  if (value >> 120n === 0xffn) return 'a multicast address is no host'
  return value >> 32n === 0xffffn ? 'an IPv4-mapped address is no host; write it as ipv4' : undefined
}

export function prefixOf({ family, value }: Address, length: number): Prefix {
  const hostBits = BigInt(bitsOf(family) - length)
  const first = (value >> hostBits) << hostBits
  return { family, length, first, last: first + (1n << hostBits) - 1n }
}

export const formatPrefix = (prefix: Prefix): string =>
  `${formatAddress({ family: prefix.family, value: prefix.first })}/${prefix.length}`

export function parsePrefix(text: string): Prefix | undefined {
  const [host = '', length = '', ...more] = text.split('/')
  const address = parseAddress(host.includes(':') ? 'IPV6' : 'IPV4', host)
  const isLength = /^\d{1,3}$/.test(length) && more.length === 0
  if (address === undefined || !isLength || Number(length) > bitsOf(address.family)) return undefined
  return prefixOf(address, Number(length))
}

export const parseHost = (text: string): Address | undefined => parseAddress(text.includes(':') ? 'IPV6' : 'IPV4', text)

export const isInRange = (range: AddressRange, value: bigint): boolean => range.first <= value && value <= range.last
export const overlap = (a: AddressRange, b: AddressRange): boolean => a.first <= b.last && b.first <= a.last
export const sizeOf = (range: AddressRange): bigint => range.last - range.first + 1n

/** Fixed-width hexadecimal, which sorts numerically. */
export const toSortable = ({ family, value }: Address): string => value.toString(16).padStart(bitsOf(family) / 4, '0')
export const fromSortable = (family: Family, text: string): Address => ({ family, value: BigInt(`0x${text}`) })

function parseV4(text: string): bigint | undefined {
  const parts = text.split('.')
  if (parts.length !== 4) return undefined
  let value = 0n
  for (const part of parts) {
    if (!/^\d{1,3}$/.test(part) || Number(part) > 255) return undefined
    value = (value << 8n) | BigInt(part)
  }
  return value
}

function formatV4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.')
}

function parseV6(text: string): bigint | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const head = groupsOf(halves[0] as string, halves.length === 1)
  const tail = halves.length === 1 ? [] : groupsOf(halves[1] as string, true)
  if (head === undefined || tail === undefined) return undefined
  const missing = 8 - head.length - tail.length
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined
  return [...head, ...Array<bigint>(missing).fill(0n), ...tail].reduce((value, group) => (value << 16n) | group, 0n)
}

/** @param mayEndInV4 accepts dotted decimal for the last 32 bits */
function groupsOf(text: string, mayEndInV4: boolean): bigint[] | undefined {
  if (text === '') return []
  const parts = text.split(':')
  const groups: bigint[] = []
  for (const [index, part] of parts.entries()) {
    if (mayEndInV4 && index === parts.length - 1 && part.includes('.')) {
      const low = parseV4(part)
      if (low === undefined) return undefined
      groups.push(low >> 16n, low & 0xffffn)
    } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(BigInt(`0x${part}`))
    else return undefined
  }
  return groups
}

function formatV6(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, index) => ((value >> BigInt(112 - 16 * index)) & 0xffffn).toString(16))
  let best = { start: 0, length: 1 }
  for (let start = 0; start < 8; start++) {
    let length = 0
    while (groups[start + length] === '0') length++
    if (length > best.length) best = { start, length }
  }
  if (best.length === 1) return groups.join(':')
  return `${groups.slice(0, best.start).join(':')}::${groups.slice(best.start + best.length).join(':')}`
}
