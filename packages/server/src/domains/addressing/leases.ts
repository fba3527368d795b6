/** A lease records the holder of an address, in the accepting transaction: requests never share one. Source: networking.md 1.3. */

import type { EntityOf } from '@hyperplane/contract'
import { AddressLease, AddressRun, AddressTally } from '@hyperplane/contract/networking/address-lease'
import { ApiError, refuseAll } from '../../core/api-error.ts'
import type { Ids } from '../../core/caller.ts'
import {
  type Address,
  type AddressRange,
  type Family,
  formatAddress,
  formatPrefix,
  fromSortable,
  isInRange,
  sizeOf,
  toSortable,
} from '../../core/ip-address.ts'
import { pathOf } from '../../core/standard.ts'
import type { Clock } from '../../core/time/clock.ts'
import { equals } from '../../odata/index.ts'
import type { Reader, Transaction } from '../../store/store.ts'
import {
  type AddressPlan,
  allocationPlanOf,
  type FamilyPlan,
  families,
  hostsOf,
  intersection,
  planOf,
  type SubnetEntity,
} from './address-plan.ts'
import { addToRuns, lowestFree, removeFromRuns, runsOf } from './address-runs.ts'
import { detachFloatingIp } from './floating-ips.ts'

export type Lease = EntityOf<typeof AddressLease>
export type LeaseKind = NonNullable<Lease['kind']>

export interface LeasingContext {
  readonly store: Transaction
  readonly ids: Pick<Ids, 'uuid'>
  readonly clock: Pick<Clock, 'iso'>
}

export interface LeaseTerms {
  readonly kind: LeaseKind
  /** NIC, VPC or gateway; absent for a reservation. */
  readonly holder?: string
  readonly context?: string
}

export const isManaged = (subnet: SubnetEntity): boolean => (subnet.ipConfig?.length ?? 0) > 0

/**
 * A given address of the prefix, or the lowest free one of the pools.
 * @throws ApiError 400 (subnet not managed, address outside the prefix or no host address), 409 (in use, pools exhausted, subnet busy)
 */
export async function leaseAddress(
  ctx: LeasingContext,
  subnet: SubnetEntity,
  request: LeaseTerms & { readonly address?: Address; readonly family?: Family; readonly attributePath?: string },
): Promise<Address> {
  const { address, family = 'IPV4', attributePath = 'address' } = request
  if (address !== undefined) {
    await leaseExactly(ctx, subnet, [address], request, () => attributePath)
    return address
  }
  const [lease] = await leaseLowest(ctx, subnet, { ...request, family, count: 1 })
  return addressOfLease(lease as Lease)
}

/** All or none, from the pools in their order, not below `start`. @returns leases in address order */
export async function leaseLowest(
  ctx: LeasingContext,
  subnet: SubnetEntity,
  request: LeaseTerms & { readonly family: Family; readonly count: number; readonly start?: bigint },
): Promise<readonly Lease[]> {
  const { family, count, start } = request
  const plan = managedPlan(subnet)[family]
  if (plan === undefined) throw notManaged(subnet, family)
  const hosts = hostsOf(plan.prefix)
  const from = start === undefined || start < hosts.first ? hosts.first : start
  const ranges = plan.pools.flatMap((pool) => intersection(pool, { first: from, last: hosts.last }))
  const values = await lowestFree(ctx.store, subnet.extId, family, ranges, count)
  if (values.length < count) {
    throw new ApiError('IP_POOL_EXHAUSTED', { name: subnet.name, requested: count, free: values.length })
  }
  values.sort(ascending)
  return takeAddress(ctx, subnet.extId, family, values, request)
}

/** All or none of these distinct addresses, anywhere in the prefix. @param pathOfAddress path in the body, for errors */
export async function leaseExactly(
  ctx: LeasingContext,
  subnet: SubnetEntity,
  addresses: readonly Address[],
  terms: LeaseTerms,
  pathOfAddress: (index: number) => string,
): Promise<readonly Lease[]> {
  await requireLeasable(ctx.store, subnet, addresses, pathOfAddress)
  const leases: Lease[] = []
  for (const family of families) {
    const values = addresses.filter((address) => address.family === family).map((address) => address.value)
    leases.push(...(await takeAddress(ctx, subnet.extId, family, values.sort(ascending), terms)))
  }
  return leases
}

/** @throws ApiError 400 or 409, as `leaseExactly` does with these addresses */
export async function requireLeasable(
  store: Reader,
  subnet: SubnetEntity,
  addresses: readonly Address[],
  pathOfAddress: (index: number) => string,
): Promise<void> {
  const plan = managedPlan(subnet)
  refuseAll(addresses.flatMap((address, index) => misplaced(plan, subnet, address, pathOfAddress(index))))
  const holders = await holdersOf(store, subnet.extId, addresses)
  refuseAll(
    holders.slice(0, 100).map((lease) => {
      return new ApiError('IP_ADDRESS_UNAVAILABLE', {
        address: textOfLease(lease),
        state: stateOf[lease.kind!],
      })
    }),
  )
}

/** Skips leases that no longer exist. */
export async function release(store: Transaction, leases: readonly Lease[]): Promise<void> {
  for (const lease of leases) {
    if (!(await store.has(AddressLease, lease.extId))) continue
    await store.remove(AddressLease, lease.extId)
    if (lease.holderExtId !== undefined) await detachFloatingIp(store, lease.holderExtId, textOfLease(lease))
    await removeFromRuns(store, lease.subnetExtId!, addressOfLease(lease))
    await addToTally(store, lease.subnetExtId!, lease.kind!, -1)
  }
}

/** In every subnet. @returns the released leases */
export async function releaseHolder(store: Transaction, holder: string): Promise<readonly Lease[]> {
  const leases = await leasesOf(store, holder)
  await release(store, leases)
  return leases
}

export async function releaseSubnet(store: Transaction, subnetExtId: string): Promise<void> {
  await store.removeWhere(AddressLease, equals(pathOf(AddressLease, 'subnetExtId'), subnetExtId))
  await store.removeWhere(AddressRun, equals(pathOf(AddressRun, 'subnetExtId'), subnetExtId))
  await store.remove(AddressTally, subnetExtId)
}

export const leasesOf = (store: Reader, holder: string): Promise<Lease[]> =>
  store.findWhere(AddressLease, { holderExtId: holder })

export const addressOfLease = (lease: Lease): Address => fromSortable(lease.family!, lease.address!)
export const textOfLease = (lease: Lease): string => formatAddress(addressOfLease(lease))

/** In address order, IPv4 first. */
export async function leasesOfKind(
  store: Reader,
  subnetExtId: string,
  kind: LeaseKind,
  limit?: number,
): Promise<Lease[]> {
  const found: Lease[] = []
  for (const family of families) {
    const left = limit === undefined ? {} : { limit: limit - found.length }
    found.push(...(await store.walk(AddressLease, { where: { subnetExtId, kind, family }, by: 'address', ...left })))
  }
  return found
}

export async function holdersOf(store: Reader, subnetExtId: string, addresses: readonly Address[]): Promise<Lease[]> {
  const found: Lease[] = []
  for (const address of addresses) {
    const where = { subnetExtId, family: address.family, address: toSortable(address) }
    const lease = await store.findOne(AddressLease, where)
    if (lease !== undefined) found.push(lease)
  }
  return found
}

/** Up to `limit` leases that prevent the prefix from shrinking to `range`. */
export async function leasesOutside(
  store: Reader,
  subnetExtId: string,
  family: Family,
  range: AddressRange | undefined,
  limit: number,
): Promise<Lease[]> {
  const walk = { where: { subnetExtId, family }, by: 'address', limit }
  if (range === undefined) return store.walk(AddressLease, walk)
  const text = (value: bigint): string => toSortable({ family, value })
  const below = range.first === 0n ? [] : await store.walk(AddressLease, { ...walk, to: text(range.first - 1n) })
  return [...below, ...(await store.walk(AddressLease, { ...walk, from: text(range.last + 1n) }))].slice(0, limit)
}

/** Leases of gateway and DHCP server match `plan` afterwards; `keepOthers`: also the old ones. @throws ApiError 409 when one is in use */
export async function syncOwnLeases(
  ctx: LeasingContext,
  subnet: Pick<SubnetEntity, 'extId' | 'name'>,
  plan: AddressPlan,
  keepOthers = false,
): Promise<void> {
  const own = new Map((await leasesOf(ctx.store, subnet.extId)).map((lease) => [keyOf(addressOfLease(lease)), lease]))
  const refusals: ApiError[] = []
  for (const [kind, address] of ownAddresses(plan)) {
    const held = own.get(keyOf(address))
    own.delete(keyOf(address))
    if (held === undefined) {
      const [other] = await holdersOf(ctx.store, subnet.extId, [address])
      if (other === undefined)
        await takeAddress(ctx, subnet.extId, address.family, [address.value], { kind, holder: subnet.extId })
      else
        refusals.push(
          new ApiError('IP_ADDRESS_UNAVAILABLE', { address: formatAddress(address), state: stateOf[other.kind!] }),
        )
    } else if (held.kind !== kind && !keepOthers) {
      await ctx.store.update(AddressLease, held.extId, { kind })
    }
  }
  refuseAll(refusals)
  if (!keepOthers) await release(ctx.store, [...own.values()])
}

export function ownAddresses(plan: AddressPlan): readonly (readonly [LeaseKind, Address])[] {
  return families.flatMap((family) => {
    const { gateway, dhcpServer } = plan[family] ?? {}
    return [
      ...(gateway === undefined ? [] : [['GATEWAY', { family, value: gateway }] as const]),
      ...(dhcpServer === undefined ? [] : [['DHCP_SERVER', { family, value: dhcpServer }] as const]),
    ]
  })
}

export interface PoolUsage {
  readonly family: Family
  readonly pool: AddressRange
  /** Without gateway and DHCP server. */
  readonly total: bigint
  readonly free: bigint
}

export interface AddressUsage {
  /** Without reservations, gateway and DHCP server. */
  readonly assigned: number
  readonly reserved: number
  readonly pools: readonly PoolUsage[]
}

export async function usageOf(store: Reader, subnet: SubnetEntity): Promise<AddressUsage> {
  const pools: PoolUsage[] = []
  const plan = planOf(subnet.ipConfig)
  for (const family of families) {
    const of = plan[family]
    if (of === undefined || of.pools.length === 0) continue
    const runs = await runsOf(store, subnet.extId, family)
    for (const pool of of.pools) pools.push(poolUsage(family, of, pool, runs))
  }
  return { ...(await tallyOf(store, subnet.extId)), pools }
}

export async function tallyOf(store: Reader, subnetExtId: string): Promise<{ assigned: number; reserved: number }> {
  const tally = await store.get(AddressTally, subnetExtId)
  return { assigned: tally?.assigned ?? 0, reserved: tally?.reserved ?? 0 }
}

async function addToTally(store: Transaction, subnetExtId: string, kind: LeaseKind, count: number): Promise<void> {
  if (count === 0 || kind === 'GATEWAY' || kind === 'DHCP_SERVER') return
  const isNew = !(await store.has(AddressTally, subnetExtId))
  const tally = { extId: subnetExtId, ...(await tallyOf(store, subnetExtId)) }
  tally[kind === 'RESERVED' ? 'reserved' : 'assigned'] += count
  if (isNew) await store.insert(AddressTally, tally)
  else await store.observe(AddressTally, subnetExtId, tally)
}

function poolUsage(family: Family, plan: FamilyPlan, pool: AddressRange, runs: readonly AddressRange[]): PoolUsage {
  let taken = 0n
  for (const run of runs) for (const part of intersection(run, pool)) taken += sizeOf(part)
  const own = [plan.gateway, plan.dhcpServer].filter((value) => value !== undefined && isInRange(pool, value)).length
  const [usable] = intersection(pool, hostsOf(plan.prefix))
  const total = (usable === undefined ? 0n : sizeOf(usable)) - BigInt(own)
  return { family, pool, total, free: total - (taken - BigInt(own)) }
}

/** @throws ApiError 409 while the subnet is being created or deleted */
export function requireSubnetAttachable(subnet: SubnetEntity): void {
  const { change } = subnet
  if (change === undefined || change.verb === 'update') return
  const { taskExtId, verb } = change
  throw new ApiError('NETWORKING_ENTITY_BUSY', { kind: 'Subnet', name: subnet.name, taskExtId, change: `${verb}d` })
}

export const stateOf: Readonly<Record<LeaseKind, string>> = {
  ASSIGNED: 'assigned to a NIC',
  ASSIGNED_SECONDARY: 'assigned to a NIC',
  DHCP_SERVER: 'the DHCP server of the subnet',
  FLOATING: 'a floating IP',
  GATEWAY: 'the gateway of the subnet',
  GATEWAY_INTERFACE: 'assigned to a gateway',
  RESERVED: 'reserved',
  ROUTER_PORT: 'assigned to the router of a VPC',
  STRETCH_INTERFACE: 'assigned to a layer-2 stretch',
  VIRTUAL_IP: 'the virtual address of a load balancer',
}

function managedPlan(subnet: SubnetEntity): AddressPlan {
  requireSubnetAttachable(subnet)
  if (!isManaged(subnet)) throw notManaged(subnet)
  return allocationPlanOf(subnet)
}

const notManaged = (subnet: SubnetEntity, family?: Family): ApiError =>
  new ApiError('NETWORKING_INVALID_ARGUMENT', {
    attributePath: 'subnet',
    fault: `subnet ${subnet.name} is not managed${family === undefined ? '' : ` in ${family === 'IPV4' ? 'IPv4' : 'IPv6'}`}`,
  })

function misplaced(plan: AddressPlan, subnet: SubnetEntity, address: Address, attributePath: string): ApiError[] {
  const of = plan[address.family]
  if (of === undefined) return [notManaged(subnet, address.family)]
  const shown = formatAddress(address)
  const fault = !isInRange(of.prefix, address.value)
    ? `expected an address of ${formatPrefix(of.prefix)}, found ${shown}`
    : `${shown} is the network or broadcast address of ${formatPrefix(of.prefix)}`
  return isInRange(hostsOf(of.prefix), address.value)
    ? []
    : [new ApiError('NETWORKING_INVALID_ARGUMENT', { attributePath, fault })]
}

/** The addresses must be free. @param values ascending */
async function takeAddress(
  ctx: LeasingContext,
  subnetExtId: string,
  family: Family,
  values: readonly bigint[],
  terms: LeaseTerms,
): Promise<readonly Lease[]> {
  const since = ctx.clock.iso()
  const leases: Lease[] = []
  for (const value of values) {
    const lease = await ctx.store.insert(AddressLease, {
      extId: ctx.ids.uuid(),
      subnetExtId,
      family,
      address: toSortable({ family, value }),
      kind: terms.kind,
      ...(terms.holder === undefined ? {} : { holderExtId: terms.holder }),
      ...(terms.context === undefined ? {} : { clientContext: terms.context }),
      since,
    })
    leases.push(lease)
  }
  await addToRuns(ctx.store, subnetExtId, family, values)
  await addToTally(ctx.store, subnetExtId, terms.kind, values.length)
  return leases
}

const keyOf = (address: Address): string => `${address.family} ${address.value}`
const ascending = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0)
