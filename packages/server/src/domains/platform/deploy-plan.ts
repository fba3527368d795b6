/** Nodes and addresses of a new manager: rules for its body and its subnet. Source: behaviour platform.md 4. */
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { type ApiError, invalid } from '../../core/api-error.ts'
import {
  type Address,
  type AddressRange,
  formatAddress,
  formatPrefix,
  isInRange,
  type Prefix,
  parseAddress,
  prefixOf,
} from '../../core/ip-address.ts'
import type { Reader } from '../../store/store.ts'
import { hostsOf, planOf, type SubnetEntity } from '../addressing/address-plan.ts'
import { holdersOf, isManaged } from '../addressing/leases.ts'
import type { Manager } from './own-manager.ts'

type Network = Manager['network']
type Wire = { readonly ipv4?: { readonly value: string }; readonly ipv6?: { readonly value: string } } | undefined

const path = 'network/externalNetworks[0]'
const searchLimit = 4096
/** Each manager has an address of its own, so this many would take every address that is examined. */
const maximumManagers = searchLimit

export const nodeCount = (manager: Pick<Manager, 'shouldEnableHighAvailability'>): number =>
  manager.shouldEnableHighAvailability === true ? 3 : 1

export const addressCount = (manager: Pick<Manager, 'shouldEnableHighAvailability'>): number => 1 + nodeCount(manager)

export function networkFaults(network: Network, subnet: SubnetEntity): ApiError[] {
  const faults: ApiError[] = []
  if (network.nameServers.length === 0) faults.push(invalid('network/nameServers', 'expected at least one'))
  if (network.ntpServers.length === 0) faults.push(invalid('network/ntpServers', 'expected at least one'))
  const external = network.externalNetworks[0]
  const prefix = prefixFor(network, subnet)
  if (prefix === undefined)
    return [...faults, invalid(`${path}/subnetMask`, 'expected a gateway and a mask in IPv4, such as 255.255.255.0')]
  const gateway = parsed(external?.defaultGateway)
  if (gateway === undefined || !isInRange(prefix, gateway.value))
    faults.push(invalid(`${path}/defaultGateway`, `expected an address inside ${formatPrefix(prefix)}`))
  const ranges = rangesOf(network)
  for (const [index, range] of ranges.entries()) {
    if (range === undefined)
      faults.push(invalid(`${path}/ipRanges[${index}]`, 'expected begin and end in IPv4, in this order'))
    else if (!isInRange(hostsOf(prefix), range.first) || !isInRange(hostsOf(prefix), range.last))
      faults.push(invalid(`${path}/ipRanges[${index}]`, `expected addresses of hosts inside ${formatPrefix(prefix)}`))
  }
  const external4 = parsed(network.externalAddress)
  if (
    network.externalAddress !== undefined &&
    !ranges.some((range) => range && external4 && isInRange(range, external4.value))
  )
    faults.push(invalid('network/externalAddress', 'expected an IPv4 address of the ranges'))
  return faults
}

/** Free addresses of the ranges, the manager's own first; fewer than `count` if there are no more. */
export async function freeAddresses(
  store: Reader,
  subnet: SubnetEntity,
  { extId, network }: Pick<DomainManager, 'extId' | 'network'>,
  count: number,
): Promise<Address[]> {
  const gateway = parsed(network.externalNetworks[0]?.defaultGateway)
  const usedAddresses = new Set([
    ...(await ofOtherManagers(store, subnet.extId, extId)),
    ...(gateway === undefined ? [] : [formatAddress(gateway)]),
  ])
  const isFree = async (address: Address): Promise<boolean> =>
    !usedAddresses.has(formatAddress(address)) &&
    (!isManaged(subnet) || (await holdersOf(store, subnet.extId, [address])).length === 0)
  const first = parsed(network.externalAddress)
  const found: Address[] = first !== undefined && (await isFree(first)) ? [first] : []
  if (first !== undefined && found.length === 0) return []
  let looked = 0
  for (const range of rangesOf(network)) {
    for (let value = range?.first ?? 1n; range !== undefined && value <= range.last; value++) {
      if (found.length === count || looked++ === searchLimit) return found
      const address: Address = { family: 'IPV4', value }
      if (value !== first?.value && (await isFree(address))) found.push(address)
    }
  }
  return found
}

/** Pending managers included: in an unmanaged subnet no lease shows that their addresses are in use. */
async function ofOtherManagers(store: Reader, subnetExtId: string, ownExtId: string): Promise<string[]> {
  const found: string[] = []
  const managers = await store.referrers(Subnet.kind, subnetExtId, maximumManagers, { from: DomainManager.kind })
  for (const { extId } of managers) {
    if (extId === ownExtId) continue
    const network = ((await store.pending(DomainManager, extId)) as DomainManager | undefined)?.network
    const all = [network?.externalAddress, ...(network?.externalNetworks[0]?.ipAddresses ?? [])]
    found.push(...all.flatMap((address) => address?.ipv4?.value ?? []))
  }
  return found
}

function prefixFor(network: Network, subnet: SubnetEntity): Prefix | undefined {
  const managed = planOf(subnet.ipConfig).IPV4?.prefix
  if (managed !== undefined) return managed
  const gateway = parsed(network.externalNetworks[0]?.defaultGateway)
  const mask = parsed(network.externalNetworks[0]?.subnetMask)
  if (gateway === undefined || mask === undefined) return undefined
  const bits = mask.value.toString(2).padStart(32, '0')
  return /^1{4,30}0+$/.test(bits) ? prefixOf(gateway, bits.indexOf('0')) : undefined
}

const rangesOf = (network: Network): (AddressRange | undefined)[] =>
  (network.externalNetworks[0]?.ipRanges ?? []).map(({ begin, end }) => {
    const [first, last] = [parsed(begin)?.value, parsed(end)?.value]
    return first === undefined || last === undefined || first > last ? undefined : { first, last }
  })

const parsed = (address: Wire): Address | undefined =>
  address?.ipv4 === undefined ? undefined : parseAddress('IPV4', address.ipv4.value)
