/** NICs of a VM; MAC addresses are unique in the deployment. Source: behaviour vmm.md 1.4; networking.md 1.3. */

import { isDeepStrictEqual } from 'node:util'
import type { EntityOf, ValueOf } from '@hyperplane/contract'
import { AddressLease } from '@hyperplane/contract/networking/address-lease'
import { NicProfile } from '@hyperplane/contract/networking/nic-profile'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import type { EmulatedNic, NicNetworkInfo } from '@hyperplane/contract/vmm/vm/parts/nic'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../../core/api-error.ts'
import type { Ids } from '../../../../core/caller.ts'
import { type Address, formatAddress, parseAddress } from '../../../../core/ip-address.ts'
import { pathOf } from '../../../../core/standard.ts'
import type { Services } from '../../../../core/world.ts'
import { equals } from '../../../../odata/index.ts'
import type { Reader, Transaction } from '../../../../store/store.ts'
import {
  addressOfLease,
  holdersOf,
  isManaged,
  type Lease,
  type LeasingContext,
  leaseAddress,
  leasesOf,
  releaseHolder,
  requireSubnetAttachable,
} from '../../../addressing/leases.ts'
import { detachTargets } from '../../../addressing/lost-targets.ts'
import type { Invariant } from '../../../context.ts'
import { rowsOf } from '../../../invariants/rule.ts'
import { limit, limitOf } from '../../../limits.ts'
import type { NicEntity, VmEntity } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { chosenMacPrefix, MacLease } from '../../../virtual-machines/mac-lease.ts'
import {
  emulatedNetworkType,
  emulatedType,
  hasVirtualFunction,
  pairFaults,
  pairOf,
  type VirtualFunction,
  virtualFunctionModel,
  virtualFunctionOf,
} from '../../../virtual-machines/virtual-functions.ts'

export const maximumNics = limit('nicsOfSubnet', 10_000)

type SubnetEntity = EntityOf<typeof Subnet>
type Backing = ValueOf<typeof EmulatedNic>
type Network = ValueOf<typeof NicNetworkInfo>

/** Has the older pair of fields, for the rules below. Every stored NIC is created by `nicOf`. */
export interface EthernetNic extends NicEntity {
  readonly extId: string
  readonly backingInfo: Backing
  readonly networkInfo: Network
}

export type NicBody = Pick<NicEntity, 'backingInfo' | 'networkInfo' | 'nicBackingInfo' | 'nicNetworkInfo'>

/** Both pairs are stored, for filters and the rules below; the older one of a NIC with a virtual function is not shown. */
export function nicOf(
  extId: string,
  backing: Backing,
  network: Network,
  virtualFunction?: VirtualFunction,
): EthernetNic {
  const { $objectType: _backing, ...plainBacking } = backing
  const { $objectType: _network, ...plainNetwork } = network
  const older = { extId, backingInfo: plainBacking, networkInfo: plainNetwork }
  if (virtualFunction !== undefined) return { ...older, ...pairOf(virtualFunction, plainBacking, plainNetwork) }
  return {
    ...older,
    nicBackingInfo: { $objectType: emulatedType, ...plainBacking },
    nicNetworkInfo: { $objectType: emulatedNetworkType, ...plainNetwork },
  }
}

/** Source: behaviour vmm.md 3.8 (invariant 9). */
export const pairsAreEqual: Invariant = {
  promise: 'The older and the newer fields of a NIC are equal',
  async *look(store) {
    for await (const vm of rowsOf(store, Vm)) {
      for (const nic of ethernetNicsOf(vm)) {
        const { extId, backingInfo, networkInfo } = nic
        if (isDeepStrictEqual({ ...nic }, nicOf(extId, backingInfo, networkInfo, virtualFunctionOf(nic)))) continue
        yield {
          about: [vm.extId],
          fault: `the NIC ${extId} of the VM "${vm.name}" differs between its pairs of fields`,
        }
      }
    }
  },
}

/** NICs of a stored or planned VM are created by `nicOf`, so they have this type. */
export const ethernetNicsOf = ({ nics = [] }: Pick<VmEntity, 'nics'>): readonly EthernetNic[] =>
  nics as readonly EthernetNic[]

/** The NIC that a body requests, with all defaults; the newer pair of fields has priority over the older one. */
export function readNic(body: NicBody, newId: () => string): EthernetNic {
  const backing: Backing = {
    isConnected: true,
    model: 'VIRTIO',
    numQueues: 1,
    ...(body.nicBackingInfo ?? body.backingInfo),
  }
  // Addresses that the guest was seen to use are not stored.
  const {
    ipv4Info: _seen,
    ipv6Info: _seenToo,
    vlanId: _vlan,
    ...given
  }: Network & { readonly ipv6Info?: unknown; readonly vlanId?: unknown } = body.nicNetworkInfo ??
  (hasVirtualFunction(body) ? {} : body.networkInfo) ??
  {}
  const network: Network = { nicType: 'NORMAL_NIC', vlanMode: 'ACCESS', shouldAllowUnknownMacs: false, ...given }
  const { networkFunctionNicType, ...others } = network
  const isFunction = network.nicType === 'NETWORK_FUNCTION_NIC'
  const { macAddress } = backing
  const virtualFunction = virtualFunctionOf(body)
  return nicOf(
    newId(),
    {
      ...(virtualFunction === undefined ? backing : { ...virtualFunctionModel, isConnected: backing.isConnected! }),
      ...(macAddress === undefined ? {} : { macAddress: canonicalMac(macAddress) }),
    },
    isFunction ? { ...others, networkFunctionNicType: networkFunctionNicType ?? 'INGRESS' } : others,
    virtualFunction,
  )
}

export const canonicalMac = (text: string): string => text.toLowerCase().replaceAll('-', ':')

/** Faults of a NIC as a body requests it. @param at path of the NIC in the body: `nics[0]/`, or nothing */
export const nicBodyFaults = (body: NicBody, at: string, vcpus?: number): ApiError[] => [
  ...pairFaults(body, at),
  ...nicFaults(
    readNic(body, () => ''),
    at,
    vcpus,
  ),
]

/** @param at as in `nicBodyFaults` */
export function nicFaults(nic: NicBody, at: string, vcpus = Number.POSITIVE_INFINITY): ApiError[] {
  const { backingInfo: backing = {}, networkInfo: network = {} } = nic
  const faults: ApiError[] = []
  const { macAddress, numQueues = 1 } = backing
  if (macAddress !== undefined && (Number.parseInt(macAddress.slice(0, 2), 16) & 1) === 1) {
    faults.push(fault(`${at}nicBackingInfo/macAddress`, 'a unicast MAC address', macAddress))
  }
  if (numQueues > vcpus) faults.push(fault(`${at}nicBackingInfo/numQueues`, `at most the vCPUs (${vcpus})`, numQueues))
  const inNetwork = `${at}nicNetworkInfo`
  const subnet = network.subnet?.extId
  const isSriov = virtualFunctionOf(nic)?.type === 'SRIOV'
  const needsSubnet = !isSriov && (network.nicType === 'NORMAL_NIC' || network.nicType === 'DIRECT_NIC')
  if (isSriov && subnet !== undefined) faults.push(fault(`${inNetwork}/subnet`, 'no subnet for an SR-IOV NIC', subnet))
  if (needsSubnet && subnet === undefined) faults.push(fault(`${inNetwork}/subnet`, 'a subnet', undefined))
  if (network.nicType === 'SPAN_DESTINATION_NIC' && subnet !== undefined) {
    faults.push(fault(`${inNetwork}/subnet`, 'no subnet for a SPAN destination', subnet))
  }
  if (network.vlanMode === 'ACCESS' && (network.trunkedVlans ?? []).length > 0) {
    faults.push(fault(`${inNetwork}/trunkedVlans`, 'none with vlanMode ACCESS', network.trunkedVlans))
  }
  const { shouldAssignIp, ipAddress, secondaryIpAddressList = [] } = network.ipv4Config ?? {}
  if (shouldAssignIp === false && (ipAddress !== undefined || secondaryIpAddressList.length > 0)) {
    faults.push(fault(`${inNetwork}/ipv4Config/shouldAssignIp`, 'true with an address', false))
  }
  const values = [ipAddress, ...secondaryIpAddressList].flatMap((address) => address?.value ?? [])
  if (new Set(values).size < values.length) faults.push(fault(`${inNetwork}/ipv4Config`, 'distinct addresses', values))
  return faults
}

export function subnetFaults({ networkInfo: network }: EthernetNic, subnet: SubnetEntity, at: string): ApiError[] {
  const faults: ApiError[] = []
  const inNetwork = `${at}nicNetworkInfo`
  if (network.vlanMode === 'TRUNK' && subnet.subnetType !== 'VLAN')
    faults.push(fault(`${inNetwork}/vlanMode`, 'ACCESS on an overlay subnet', 'TRUNK'))
  if (subnet.isExternal === true)
    faults.push(fault(`${inNetwork}/subnet/extId`, 'a subnet that is not external', subnet.extId))
  const requested = [network.ipv4Config?.ipAddress, ...(network.ipv4Config?.secondaryIpAddressList ?? [])]
  if (requested.some((address) => address !== undefined) && !isManaged(subnet)) {
    faults.push(
      fault(`${inNetwork}/ipv4Config`, `no address: subnet ${subnet.name} is not managed`, requested[0]?.value),
    )
  }
  return faults
}

export interface MissingReference {
  readonly kind: 'subnet' | 'NIC profile'
  readonly id: string
}

export async function missingReferenceOf(store: Reader, nic: NicEntity): Promise<MissingReference | undefined> {
  const subnet = nic.networkInfo?.subnet?.extId
  if (subnet !== undefined && !(await store.has(Subnet, subnet))) return { kind: 'subnet', id: subnet }
  const { profileExtId: profile } = virtualFunctionOf(nic) ?? {}
  if (profile !== undefined && !(await store.has(NicProfile, profile))) return { kind: 'NIC profile', id: profile }
  return undefined
}

/** Leases the given MAC address to the NIC, or a generated one. @throws ApiError 409 in use; 422 the subnet is full */
export async function takeMac(
  ctx: { store: Transaction; ids: Ids; services: Services },
  vmExtId: string,
  nic: EthernetNic,
): Promise<EthernetNic> {
  await requireRoomOnSubnet(ctx, nic)
  const given = nic.backingInfo.macAddress
  let macAddress = given ?? generatedMac(ctx.ids)
  while ((await ctx.store.findOne(MacLease, { macAddress })) !== undefined) {
    if (given !== undefined) throw macInUse(given)
    macAddress = generatedMac(ctx.ids)
  }
  const nicExtId = nic.extId
  const subnetExtId = nic.networkInfo.subnet?.extId
  await ctx.store.insert(MacLease, {
    extId: nicExtId,
    macAddress,
    nicExtId,
    vmExtId,
    ...(subnetExtId === undefined ? {} : { subnetExtId }),
  })
  return nicOf(nicExtId, { ...nic.backingInfo, macAddress }, nic.networkInfo, virtualFunctionOf(nic))
}

export const macInUse = (macAddress: string): ApiError =>
  new ApiError('ADDRESS_IN_USE', { kind: 'NIC', fields: `MAC address ${macAddress}` })

/** @throws ApiError 409 while the subnet is being created or deleted; 422 when it is full */
export async function requireRoomOnSubnet(ctx: { store: Reader; services: Services }, nic: EthernetNic): Promise<void> {
  const subnet = await subnetOf(ctx.store, nic)
  if (subnet === undefined) return
  requireSubnetAttachable(subnet)
  const maximum = limitOf(ctx, maximumNics)
  const found = (await ctx.store.count(MacLease, { filter: equals(pathOf(MacLease, 'subnetExtId'), subnet.extId) })) + 1
  if (found > maximum) {
    throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: `NICs of subnet ${subnet.name}`, maximum, found })
  }
}

function generatedMac(ids: Ids): string {
  const octets = [0, 1, 2].map(() =>
    Math.floor(ids.random() * 256)
      .toString(16)
      .padStart(2, '0'),
  )
  return [chosenMacPrefix, ...octets].join(':')
}

interface RequestedAddress {
  readonly address: Address
  readonly kind: 'ASSIGNED' | 'ASSIGNED_SECONDARY'
  readonly attributePath: string
}

/** Addresses that the NIC's body names. `at` as in `nicFaults`. */
export function requestedAddresses({ networkInfo }: EthernetNic, at = ''): readonly RequestedAddress[] {
  const { ipAddress, secondaryIpAddressList = [] } = networkInfo.ipv4Config ?? {}
  const path = `${at}nicNetworkInfo/ipv4Config`
  const requested = (text: string, kind: RequestedAddress['kind'], name: string): RequestedAddress => ({
    address: parseAddress('IPV4', text) as Address,
    kind,
    attributePath: `${path}/${name}`,
  })
  return [
    ...(ipAddress === undefined ? [] : [requested(ipAddress.value, 'ASSIGNED', 'ipAddress')]),
    ...secondaryIpAddressList.map(({ value }, index) =>
      requested(value, 'ASSIGNED_SECONDARY', `secondaryIpAddressList[${index}]`),
    ),
  ]
}

/** Leases the addresses that the request names; the NIC may hold some of them already. @throws ApiError 409 */
export async function leaseRequestedAddresses(ctx: LeasingContext, nic: EthernetNic, at = ''): Promise<void> {
  const subnet = await subnetOf(ctx.store, nic)
  if (subnet === undefined) return
  for (const requested of requestedAddresses(nic, at)) {
    const [held] = await holdersOf(ctx.store, subnet.extId, [requested.address])
    const isOwn = held?.holderExtId === nic.extId
    if (isOwn && held.kind !== requested.kind)
      await ctx.store.observe(AddressLease, held.extId, { kind: requested.kind })
    if (isOwn) continue
    await asVmm(subnet, formatAddress(requested.address), () =>
      leaseAddress(ctx, subnet, { ...requested, holder: nic.extId }),
    )
  }
}

/** From the pools, if the NIC needs one and has none. @throws ApiError when the pools are exhausted */
export async function takeFreeAddress(ctx: LeasingContext, nic: EthernetNic): Promise<EthernetNic> {
  const subnet = await subnetOf(ctx.store, nic)
  const ipv4 = subnet?.ipConfig?.[0]?.ipv4
  if (subnet === undefined || ipv4 === undefined) return withHeld(ctx.store, nic)
  const isWanted = nic.networkInfo.ipv4Config?.shouldAssignIp ?? (ipv4.poolList ?? []).length > 0
  const held = await stayingLeases(ctx.store, nic.extId)
  if (isWanted && !held.some(({ kind }) => kind === 'ASSIGNED')) {
    const request = { kind: 'ASSIGNED', holder: nic.extId, family: 'IPV4' } as const
    await asVmm(subnet, '', () => leaseAddress(ctx, subnet, request))
  }
  return withHeld(ctx.store, nic)
}

/** Omits leases that a task is about to release. */
const stayingLeases = async (store: Reader, nicExtId: string): Promise<readonly Lease[]> =>
  (await leasesOf(store, nicExtId)).filter(({ isLeaving }) => isLeaving !== true)

/** The NIC with the addresses that it holds, in place of those that its body names. */
export async function withHeld(store: Reader, nic: EthernetNic): Promise<EthernetNic> {
  const { ipv4Config: requestedConfig, ...network } = nic.networkInfo
  const leases = await stayingLeases(store, nic.extId)
  const values = (kind: string): string[] =>
    leases.filter((lease) => lease.kind === kind).map((lease) => formatAddress(addressOfLease(lease)))
  const [primary] = values('ASSIGNED')
  const secondary = values('ASSIGNED_SECONDARY')
  if (primary === undefined && secondary.length === 0)
    return nicOf(nic.extId, nic.backingInfo, network, virtualFunctionOf(nic))
  const shown = (value: string): { value: string; prefixLength: number } => ({
    value,
    prefixLength:
      (requestedConfig?.ipAddress?.value === value ? requestedConfig.ipAddress.prefixLength : undefined) ?? 32,
  })
  const ipv4Config = {
    shouldAssignIp: true,
    ...(primary === undefined ? {} : { ipAddress: shown(primary) }),
    ...(secondary.length === 0 ? {} : { secondaryIpAddressList: secondary.map(shown) }),
  }
  return nicOf(nic.extId, nic.backingInfo, { ...network, ipv4Config }, virtualFunctionOf(nic))
}

export async function releaseNics(store: Transaction, vmExtId: string, nics: readonly NicEntity[]): Promise<void> {
  for (const { extId } of nics) await releaseHolder(store, extId as string)
  await store.removeWhere(MacLease, equals(pathOf(MacLease, 'vmExtId'), vmExtId))
  await detachTargets(store, nics)
}

export async function subnetOf(store: Reader, nic: EthernetNic): Promise<SubnetEntity | undefined> {
  const extId = nic.networkInfo.subnet?.extId
  return extId === undefined ? undefined : store.get(Subnet, extId)
}

/** Leases fail with error codes of networking; this replaces them by the codes of vmm. */
export async function asVmm<T>(subnet: SubnetEntity, address: string, take: () => Promise<T>): Promise<T> {
  try {
    return await take()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    switch (error.key) {
      case 'IP_POOL_EXHAUSTED':
        throw new ApiError('VMM_IP_POOL_EXHAUSTED', { name: subnet.name }, { cause: error })
      case 'IP_ADDRESS_UNAVAILABLE':
        throw new ApiError(
          'ADDRESS_IN_USE',
          { kind: 'holder', fields: `address ${address} (${error.message})` },
          { cause: error },
        )
      case 'NETWORKING_INVALID_ARGUMENT':
        throw new ApiError('IP_OUT_OF_SUBNET', { address, subnet: subnet.name }, { cause: error })
      default:
        throw error
    }
  }
}
