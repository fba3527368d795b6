/** Prefixes in request bodies; each has exactly one family. Source: behaviour networking.md 1.1 (addresses). */
import type { ApiError } from '../../core/api-error.ts'
import {
  formatPrefix,
  type Prefix,
  parseAddress,
  prefixLengthOf,
  prefixOf,
  type WirePrefix,
  writeAddress,
  writeAsGiven,
} from '../../core/ip-address.ts'
import { invalidField } from './ip-config.ts'

export interface WireSubnet {
  readonly ipv4?: WirePrefix
  readonly ipv6?: WirePrefix
}

/** @returns the faults of an invalid prefix; host bits are a fault */
export function readSubnet(given: WireSubnet, path: string): Prefix | readonly ApiError[] {
  const { ipv4, ipv6 } = given
  if ((ipv4 === undefined) === (ipv6 === undefined))
    return [invalidField(path, 'expected exactly one of ipv4 and ipv6')]
  const [family, name, of] = ipv4 === undefined ? (['IPV6', 'ipv6', ipv6!] as const) : (['IPV4', 'ipv4', ipv4] as const)
  const address = parseAddress(family, of.ip.value)
  if (address === undefined)
    return [invalidField(`${path}/${name}/ip/value`, `expected an address, found "${of.ip.value}"`)]
  const prefix = prefixOf(address, prefixLengthOf(family, of))
  if (prefix.first === address.value) return prefix
  return [
    invalidField(`${path}/${name}/ip/value`, `expected no host bits: ${formatPrefix(prefix)}, found ${of.ip.value}`),
  ]
}

/** `given` must be validated already. */
export const prefixOfSubnet = (given: WireSubnet): Prefix => readSubnet(given, '') as Prefix

export function writeSubnet(prefix: Prefix) {
  const { ipv4, ipv6 } = writeAddress({ family: prefix.family, value: prefix.first })
  const { length: prefixLength } = prefix
  return ipv4 === undefined ? { ipv6: { ip: ipv6!, prefixLength } } : { ipv4: { ip: ipv4, prefixLength } }
}

export function writeSubnetAsGiven({ ipv4, ipv6 }: WireSubnet): ReturnType<typeof writeSubnet> {
  return ipv4 === undefined
    ? { ipv6: { ip: writeAsGiven({ ipv6: ipv6!.ip }).ipv6!, prefixLength: ipv6!.prefixLength } }
    : { ipv4: { ip: writeAsGiven({ ipv4: ipv4.ip }).ipv4!, prefixLength: ipv4.prefixLength } }
}
