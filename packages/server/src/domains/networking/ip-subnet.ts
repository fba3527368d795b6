/** Prefixes as bodies state them, of exactly one family. Source: behaviour networking.md 1.1 (addresses). */
import type { ApiError } from '../../core/api-error.ts'
import {
  type Address,
  formatPrefix,
  type Prefix,
  parseAddress,
  prefixOf,
  readAddress,
  type WireAddress,
  writeAddress,
} from '../ip-address.ts'
import { fault } from './ip-config.ts'

export interface WireSubnet {
  readonly ipv4?: { readonly ip: { readonly value: string }; readonly prefixLength: number }
  readonly ipv6?: { readonly ip: { readonly value: string }; readonly prefixLength: number }
}

/** What stands in a body, without host bits. @returns the faults */
export function readSubnet(given: WireSubnet, path: string): Prefix | readonly ApiError[] {
  const { ipv4, ipv6 } = given
  if ((ipv4 === undefined) === (ipv6 === undefined)) return [fault(path, 'expected exactly one of ipv4 and ipv6')]
  const [family, name, of] = ipv4 === undefined ? (['IPV6', 'ipv6', ipv6!] as const) : (['IPV4', 'ipv4', ipv4] as const)
  const address = parseAddress(family, of.ip.value)
  if (address === undefined) return [fault(`${path}/${name}/ip/value`, `expected an address, found "${of.ip.value}"`)]
  const prefix = prefixOf(address, of.prefixLength)
  if (prefix.first === address.value) return prefix
  return [fault(`${path}/${name}/ip/value`, `expected no host bits: ${formatPrefix(prefix)}, found ${of.ip.value}`)]
}

/** Of a prefix that was checked before. */
export const prefixOfSubnet = (given: WireSubnet): Prefix => readSubnet(given, '') as Prefix

export function writeSubnet(prefix: Prefix) {
  const { ipv4, ipv6 } = writeAddress({ family: prefix.family, value: prefix.first })
  const { length: prefixLength } = prefix
  return ipv4 === undefined ? { ipv6: { ip: ipv6!, prefixLength } } : { ipv4: { ip: ipv4, prefixLength } }
}

/** One spelling for each address. */
export const canonicalAddress = (given: WireAddress): ReturnType<typeof writeAddress> =>
  writeAddress(readAddress(given) as Address)
