/** Prefix, pools, gateway and DHCP server of a subnet as numbers. Source: behaviour networking.md 1.2 (ipConfig), 1.3. */
import type { Subnet } from '@hyperplane/contract/networking/subnet'
import {
  type AddressRange,
  type Family,
  isInRange,
  type Prefix,
  parseAddress,
  prefixLengthOf,
  prefixOf,
} from '../../core/ip-address.ts'

export type SubnetEntity = Subnet
type IpConfig = NonNullable<SubnetEntity['ipConfig']>[number]

export interface FamilyPlan {
  readonly prefix: Prefix
  readonly gateway?: bigint
  readonly dhcpServer?: bigint
  /** In the order of allocation. */
  readonly pools: readonly AddressRange[]
}

export type AddressPlan = { readonly [F in Family]?: FamilyPlan }

export const families: readonly Family[] = ['IPV4', 'IPV6']

/** The service chooses addresses of this family: IPv4 where the subnet has it. */
export const familyOf = ({ IPV4 }: AddressPlan): Family => (IPV4 === undefined ? 'IPV6' : 'IPV4')

/** `ipConfig` must be valid. The plan of an unmanaged subnet is empty. */
export function planOf(ipConfig: readonly IpConfig[] | undefined): AddressPlan {
  const [config] = ipConfig ?? []
  const plan: { [F in Family]?: FamilyPlan } = {}
  for (const family of families) {
    const given = family === 'IPV4' ? config?.ipv4 : config?.ipv6
    if (given === undefined) continue
    const value = (text: string): bigint => parseAddress(family, text)?.value ?? 0n
    plan[family] = {
      prefix: prefixOf({ family, value: value(given.ipSubnet.ip.value) }, prefixLengthOf(family, given.ipSubnet)),
      ...(given.defaultGatewayIp === undefined ? {} : { gateway: value(given.defaultGatewayIp.value) }),
      ...(given.dhcpServerAddress === undefined ? {} : { dhcpServer: value(given.dhcpServerAddress.value) }),
      pools: (given.poolList ?? []).map((pool) => ({
        first: value(pool.startIp.value),
        last: value(pool.endIp.value),
      })),
    }
  }
  return plan
}

/** Excludes network and broadcast address, in IPv6 the all-zero interface id. */
export function hostsOf(prefix: Prefix): AddressRange {
  return { first: prefix.first + 1n, last: prefix.family === 'IPV4' ? prefix.last - 1n : prefix.last }
}

/** During an update an address must fit the old and the new plan, because the update may be rolled back. */
export function allocationPlanOf(subnet: SubnetEntity): AddressPlan {
  const present = planOf(subnet.ipConfig)
  if (subnet.change?.verb !== 'update') return present
  const coming = planOf(subnet.change.ipConfig)
  const both: { [F in Family]?: FamilyPlan } = {}
  for (const family of families) {
    const [old, next] = [present[family], coming[family]]
    if (old === undefined || next === undefined) continue
    const narrow = old.prefix.length >= next.prefix.length ? old.prefix : next.prefix
    const wide = narrow === old.prefix ? next.prefix : old.prefix
    if (!isInRange(wide, narrow.first)) continue
    both[family] = {
      ...old,
      prefix: narrow,
      pools: old.pools.flatMap((pool) => intersection(pool, hostsOf(next.prefix))),
    }
  }
  return both
}

export function intersection(a: AddressRange, b: AddressRange): AddressRange[] {
  const first = a.first > b.first ? a.first : b.first
  const last = a.last < b.last ? a.last : b.last
  return first <= last ? [{ first, last }] : []
}
