/** Validates and normalises address management. Source: behaviour networking.md 1.1 (addresses), 1.2 (ipConfig). */

import { ApiError } from '../../core/api-error.ts'
import {
  type Address,
  type AddressRange,
  type Family,
  formatAddress,
  formatPrefix,
  isInRange,
  notAHost,
  overlap,
  type Prefix,
  parseAddress,
  prefixLengthOf,
  prefixOf,
  readAddress,
  type WireAddress,
  writeAsGiven,
} from '../../core/ip-address.ts'
import { hostsOf, type SubnetEntity } from '../addressing/address-plan.ts'

export type IpConfig = NonNullable<SubnetEntity['ipConfig']>[number]
type FamilyConfig = NonNullable<IpConfig['ipv4']>
type DhcpOptions = NonNullable<SubnetEntity['dhcpOptions']>

const prefixLengths: Readonly<Record<Family, readonly [number, number]>> = { IPV4: [4, 30], IPV6: [8, 126] }

export const invalidField = (attributePath: string, text: string): ApiError =>
  new ApiError('NETWORKING_INVALID_ARGUMENT', { attributePath, fault: text })

/** @param needsGateway true for overlay and external subnets, which have a router */
export function ipConfigFaults(config: IpConfig, path: string, needsGateway: boolean): ApiError[] {
  if (config.ipv4 === undefined && config.ipv6 === undefined) return [invalidField(path, 'expected ipv4, ipv6 or both')]
  return [
    ...(config.ipv4 === undefined ? [] : familyFaults('IPV4', config.ipv4, `${path}/ipv4`, needsGateway)),
    ...(config.ipv6 === undefined ? [] : familyFaults('IPV6', config.ipv6, `${path}/ipv6`, needsGateway)),
  ]
}

function familyFaults(family: Family, config: FamilyConfig, path: string, needsGateway: boolean): ApiError[] {
  const faults: ApiError[] = []
  const prefix = readPrefix(family, config.ipSubnet, `${path}/ipSubnet`, faults)
  const gateway = readHost(family, config.defaultGatewayIp, prefix, `${path}/defaultGatewayIp`, faults)
  const server = readHost(family, config.dhcpServerAddress, prefix, `${path}/dhcpServerAddress`, faults)
  if (needsGateway && config.defaultGatewayIp === undefined) {
    faults.push(invalidField(`${path}/defaultGatewayIp`, 'is required for an overlay or external subnet'))
  }
  if (gateway !== undefined && gateway === server) {
    faults.push(invalidField(`${path}/dhcpServerAddress`, 'expected another address than the gateway'))
  }
  const pools = (config.poolList ?? []).flatMap((pool, index) => {
    const range = readPool(family, pool, prefix, `${path}/poolList[${index}]`, faults)
    return range === undefined ? [] : [{ ...range, index }]
  })
  pools.sort((a, b) => (a.first < b.first ? -1 : 1))
  let widest = pools[0]
  for (const pool of pools.slice(1)) {
    if (widest !== undefined && overlap(widest, pool)) {
      faults.push(invalidField(`${path}/poolList[${pool.index}]`, `overlaps poolList[${widest.index}]`))
    }
    if (widest === undefined || pool.last > widest.last) widest = pool
  }
  return faults
}

function readPrefix(
  family: Family,
  given: FamilyConfig['ipSubnet'],
  path: string,
  faults: ApiError[],
): Prefix | undefined {
  const [least, most] = prefixLengths[family]
  const prefixLength = prefixLengthOf(family, given)
  const isLength = prefixLength >= least && prefixLength <= most
  if (!isLength)
    faults.push(invalidField(`${path}/prefixLength`, `expected ${least} to ${most}, found ${prefixLength}`))
  const address = readText(family, given.ip.value, `${path}/ip/value`, faults)
  if (address === undefined || !isLength) return undefined
  const prefix = prefixOf(address, prefixLength)
  if (prefix.first !== address.value) {
    faults.push(
      invalidField(`${path}/ip/value`, `expected no host bits: ${formatPrefix(prefix)}, found ${given.ip.value}`),
    )
  }
  return prefix
}

/** Appends to `faults` unless the address is a host address of the subnet. */
function readHost(
  family: Family,
  given: { readonly value: string } | undefined,
  prefix: Prefix | undefined,
  path: string,
  faults: ApiError[],
): bigint | undefined {
  if (given === undefined) return undefined
  const address = readText(family, given.value, `${path}/value`, faults)
  if (address === undefined || prefix === undefined) return address?.value
  const reason = notAHost(address)
  if (reason !== undefined) faults.push(invalidField(path, reason))
  else if (!isInRange(prefix, address.value)) {
    faults.push(invalidField(path, `expected an address inside ${formatPrefix(prefix)}, found ${given.value}`))
  } else if (!isInRange(hostsOf(prefix), address.value)) {
    faults.push(invalidField(path, `${given.value} is the network or broadcast address of ${formatPrefix(prefix)}`))
  }
  return address.value
}

function readPool(
  family: Family,
  pool: NonNullable<FamilyConfig['poolList']>[number],
  prefix: Prefix | undefined,
  path: string,
  faults: ApiError[],
): AddressRange | undefined {
  const start = readText(family, pool.startIp.value, `${path}/startIp/value`, faults)
  const end = readText(family, pool.endIp.value, `${path}/endIp/value`, faults)
  if (start === undefined || end === undefined) return undefined
  if (start.value > end.value) {
    faults.push(
      invalidField(path, `expected a start before the end, found ${pool.startIp.value} to ${pool.endIp.value}`),
    )
    return undefined
  }
  if (prefix !== undefined && !(isInRange(prefix, start.value) && isInRange(prefix, end.value))) {
    faults.push(
      invalidField(
        path,
        `expected a pool inside ${formatPrefix(prefix)}, found ${pool.startIp.value} to ${pool.endIp.value}`,
      ),
    )
  }
  return { first: start.value, last: end.value }
}

function readText(family: Family, text: string, path: string, faults: ApiError[]): Address | undefined {
  const address = parseAddress(family, text)
  if (address === undefined)
    faults.push(invalidField(path, `expected an ${family === 'IPV4' ? 'IPv4' : 'IPv6'} address, found "${text}"`))
  return address
}

export function hostFaults(given: WireAddress, path: string): ApiError[] {
  const address = readAddress(given)
  if (typeof address === 'string') return [invalidField(path, address)]
  const reason = notAHost(address)
  return reason === undefined ? [] : [invalidField(path, reason)]
}

export function dhcpOptionFaults(options: DhcpOptions, path: string): ApiError[] {
  const lists = { domainNameServers: options.domainNameServers, ntpServers: options.ntpServers }
  return Object.entries(lists).flatMap(([name, list]) =>
    (list ?? []).flatMap((address, index) => hostFaults(address, `${path}/${name}[${index}]`)),
  )
}

export function canonicalIpConfig(config: IpConfig): IpConfig {
  return {
    ...(config.ipv4 === undefined ? {} : { ipv4: canonicalFamily('IPV4', config.ipv4) }),
    ...(config.ipv6 === undefined ? {} : { ipv6: canonicalFamily('IPV6', config.ipv6) }),
  }
}

function canonicalFamily(family: Family, config: FamilyConfig): FamilyConfig {
  type Written = FamilyConfig['ipSubnet']['ip']
  const written = (given: Written): Written => ({ ...given, value: canonicalText(family, given.value) })
  return {
    ipSubnet: { ...config.ipSubnet, ip: written(config.ipSubnet.ip) },
    ...(config.defaultGatewayIp === undefined ? {} : { defaultGatewayIp: written(config.defaultGatewayIp) }),
    ...(config.dhcpServerAddress === undefined ? {} : { dhcpServerAddress: written(config.dhcpServerAddress) }),
    ...(config.poolList === undefined
      ? {}
      : { poolList: config.poolList.map((pool) => ({ startIp: written(pool.startIp), endIp: written(pool.endIp) })) }),
  }
}

const canonicalText = (family: Family, text: string): string => {
  const address = parseAddress(family, text)
  return address === undefined ? text : formatAddress(address)
}

export function canonicalDhcpOptions(options: DhcpOptions): DhcpOptions {
  return {
    ...options,
    ...(options.domainNameServers === undefined
      ? {}
      : { domainNameServers: options.domainNameServers.map(writeAsGiven) }),
    ...(options.ntpServers === undefined ? {} : { ntpServers: options.ntpServers.map(writeAsGiven) }),
  }
}
