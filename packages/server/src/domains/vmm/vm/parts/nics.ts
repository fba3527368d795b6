/** NICs of a VM; MAC addresses are unique in the deployment. Source: behaviour vmm.md 1.4; networking.md 1.3. */

import type { EntityOf, ValueOf } from '@hyperplane/contract'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import type { EmulatedNic, NicNetworkInfo } from '@hyperplane/contract/vmm/vm/parts/nic'
import { ApiError } from '../../../../core/api-error.ts'
import type { Ids } from '../../../../core/caller.ts'
import { pathOf } from '../../../../core/standard.ts'
import type { Services } from '../../../../core/world.ts'
import { equals } from '../../../../odata/index.ts'
import type { Reader, Transaction } from '../../../../store/store.ts'
import { type Address, formatAddress, parseAddress } from '../../../addressing/ip-address.ts'
import {
  addressOf,
  isManaged,
  type LeasingContext,
  leaseAddress,
  leasesOf,
  releaseHolder,
} from '../../../addressing/leases.ts'
import { limit, limitOf } from '../../../limits.ts'
import type { NicEntity, VmEntity } from '../../../virtual-machines/entity.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { MacLease } from '../../../virtual-machines/mac-lease.ts'

export const maximumNics = limit('nicsOfSubnet', 10_000)

type SubnetEntity = EntityOf<typeof Subnet>
type Backing = ValueOf<typeof EmulatedNic>
type Network = ValueOf<typeof NicNetworkInfo>

/** A NIC with the older pair of fields, which the rules below read. Every stored NIC is created by `nicOf`. */
export interface EthernetNic extends NicEntity {
  readonly extId: string
  readonly backingInfo: Backing
  readonly networkInfo: Network
}

const emulatedType = 'vmm.v4.ahv.config.VirtualEthernetNic'
const emulatedNetworkType = 'vmm.v4.ahv.config.VirtualEthernetNicNetworkInfo'
const madePrefix = '50:6b:8d'

/** Virtual Ethernet: neither SR-IOV nor offload. */
export const isEmulated = (nic: NicEntity): boolean =>
  (nic.nicBackingInfo?.$objectType ?? emulatedType) === emulatedType &&
  (nic.nicNetworkInfo?.$objectType ?? emulatedNetworkType) === emulatedNetworkType

/** Sets both pairs of fields. Both are stored, because filters of lists may use either. */
export function nicOf(extId: string, backing: Backing, network: Network): EthernetNic {
  const { $objectType: _backing, ...plainBacking } = backing
  const { $objectType: _network, ...plainNetwork } = network
  return {
    extId,
    backingInfo: plainBacking,
    networkInfo: plainNetwork,
    nicBackingInfo: { $objectType: emulatedType, ...plainBacking },
    nicNetworkInfo: { $objectType: emulatedNetworkType, ...plainNetwork },
  }
}

/** NICs of a stored or planned VM are created by `nicOf`, so they have this type. */
export const ethernetNicsOf = ({ nics = [] }: Pick<VmEntity, 'nics'>): readonly EthernetNic[] =>
  nics as readonly EthernetNic[]

/** The NIC that a body requests, with all defaults; the newer pair of fields has priority over the older one. */
export function readNic(body: NicEntity, newId: () => string): EthernetNic {
  const backing: Backing = {
    isConnected: true,
    model: 'VIRTIO',
    numQueues: 1,
    ...(body.nicBackingInfo ?? body.backingInfo),
  }
  const given: Network = body.nicNetworkInfo ?? body.networkInfo ?? {}
  const network: Network = { nicType: 'NORMAL_NIC', vlanMode: 'ACCESS', shouldAllowUnknownMacs: false, ...given }
  const { networkFunctionNicType, ...others } = network
  const isFunction = network.nicType === 'NETWORK_FUNCTION_NIC'
  return nicOf(
    newId(),
    { ...backing, ...(backing.macAddress === undefined ? {} : { macAddress: canonicalMac(backing.macAddress) }) },
    isFunction ? { ...others, networkFunctionNicType: networkFunctionNicType ?? 'INGRESS' } : others,
  )
}

const canonicalMac = (text: string): string => text.toLowerCase().replaceAll('-', ':')

export function nicFaults(nic: NicEntity, path: string, vcpus: number): ApiError[] {
  const { backingInfo: backing = {}, networkInfo: network = {} } = nic
  const faults: ApiError[] = []
  const { macAddress, numQueues = 1 } = backing
  if (macAddress !== undefined && (Number.parseInt(macAddress.slice(0, 2), 16) & 1) === 1) {
    faults.push(fault(`${path}/nicBackingInfo/macAddress`, 'a unicast MAC address', macAddress))
  }
  if (numQueues > vcpus)
    faults.push(fault(`${path}/nicBackingInfo/numQueues`, `at most the vCPUs (${vcpus})`, numQueues))
  const at = `${path}/nicNetworkInfo`
  const subnet = network.subnet?.extId
  const needsSubnet = network.nicType === 'NORMAL_NIC' || network.nicType === 'DIRECT_NIC'
  if (needsSubnet && subnet === undefined) faults.push(fault(`${at}/subnet`, 'a subnet', undefined))
  if (network.nicType === 'SPAN_DESTINATION_NIC' && subnet !== undefined) {
    faults.push(fault(`${at}/subnet`, 'no subnet for a SPAN destination', subnet))
  }
  if (network.vlanMode === 'ACCESS' && (network.trunkedVlans ?? []).length > 0) {
    faults.push(fault(`${at}/trunkedVlans`, 'none with vlanMode ACCESS', network.trunkedVlans))
  }
  const { shouldAssignIp, ipAddress, secondaryIpAddressList = [] } = network.ipv4Config ?? {}
  if (shouldAssignIp === false && (ipAddress !== undefined || secondaryIpAddressList.length > 0)) {
    faults.push(fault(`${at}/ipv4Config/shouldAssignIp`, 'true with an address', false))
  }
  const values = [ipAddress, ...secondaryIpAddressList].flatMap((address) => address?.value ?? [])
  if (new Set(values).size < values.length) faults.push(fault(`${at}/ipv4Config`, 'distinct addresses', values))
  return faults
}

export function subnetFaults({ networkInfo: network }: EthernetNic, subnet: SubnetEntity, path: string): ApiError[] {
  const faults: ApiError[] = []
  const at = `${path}/nicNetworkInfo`
  if (network.vlanMode === 'TRUNK' && subnet.subnetType !== 'VLAN')
    faults.push(fault(`${at}/vlanMode`, 'ACCESS on an overlay subnet', 'TRUNK'))
  if (subnet.isExternal === true)
    faults.push(fault(`${at}/subnet/extId`, 'a subnet that is not external', subnet.extId))
  const asked = [network.ipv4Config?.ipAddress, ...(network.ipv4Config?.secondaryIpAddressList ?? [])]
  if (asked.some((address) => address !== undefined) && !isManaged(subnet)) {
    faults.push(fault(`${at}/ipv4Config`, `no address: subnet ${subnet.name} is not managed`, asked[0]?.value))
  }
  return faults
}

/** Leases the given MAC address to the NIC, or a generated one. @throws ApiError 409 in use; 422 the subnet is full */
export async function takeMac(
  ctx: { store: Transaction; ids: Ids; services: Services },
  vmExtId: string,
  nic: EthernetNic,
): Promise<EthernetNic> {
  await requireRoomOnSubnet(ctx, nic)
  const given = nic.backingInfo.macAddress
  let macAddress = given ?? madeMac(ctx.ids)
  while ((await ctx.store.findOne(MacLease, { macAddress })) !== undefined) {
    if (given !== undefined) throw new ApiError('ADDRESS_IN_USE', { kind: 'NIC', fields: `MAC address ${given}` })
    macAddress = madeMac(ctx.ids)
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
  return nicOf(nicExtId, { ...nic.backingInfo, macAddress }, nic.networkInfo)
}

async function requireRoomOnSubnet(ctx: { store: Reader; services: Services }, nic: EthernetNic): Promise<void> {
  const subnet = await subnetOf(ctx.store, nic)
  if (subnet === undefined) return
  const maximum = limitOf(ctx, maximumNics)
  const found = (await ctx.store.count(MacLease, { filter: equals(pathOf(MacLease, 'subnetExtId'), subnet.extId) })) + 1
  if (found > maximum) {
    throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: `NICs of subnet ${subnet.name}`, maximum, found })
  }
}

function madeMac(ids: Ids): string {
  const octets = [0, 1, 2].map(() =>
    Math.floor(ids.random() * 256)
      .toString(16)
      .padStart(2, '0'),
  )
  return [madePrefix, ...octets].join(':')
}

/** Leases the addresses that the request names. @throws ApiError 409 */
export async function takeAskedAddresses(ctx: LeasingContext, nic: EthernetNic, path: string): Promise<void> {
  const { ipAddress, secondaryIpAddressList = [] } = nic.networkInfo.ipv4Config ?? {}
  const subnet = await subnetOf(ctx.store, nic)
  if (subnet === undefined) return
  const holder = nic.extId
  const take = (text: string, kind: 'ASSIGNED' | 'ASSIGNED_SECONDARY', at: string): Promise<Address> =>
    asVmm(subnet, text, () => {
      const address = parseAddress('IPV4', text) as Address
      return leaseAddress(ctx, subnet, {
        kind,
        holder,
        address,
        attributePath: `${path}/nicNetworkInfo/ipv4Config/${at}`,
      })
    })
  if (ipAddress !== undefined) await take(ipAddress.value, 'ASSIGNED', 'ipAddress')
  for (const [index, { value }] of secondaryIpAddressList.entries()) {
    await take(value, 'ASSIGNED_SECONDARY', `secondaryIpAddressList[${index}]`)
  }
}

/** Leases an address of the pools if the NIC needs one and has none. @throws ApiError when the pools are exhausted */
export async function takeFreeAddress(ctx: LeasingContext, nic: EthernetNic): Promise<EthernetNic> {
  const subnet = await subnetOf(ctx.store, nic)
  const ipv4 = subnet?.ipConfig?.[0]?.ipv4
  if (subnet === undefined || ipv4 === undefined) return withHeld(ctx.store, nic)
  const isWanted = nic.networkInfo.ipv4Config?.shouldAssignIp ?? (ipv4.poolList ?? []).length > 0
  const held = await leasesOf(ctx.store, nic.extId)
  if (isWanted && !held.some(({ kind }) => kind === 'ASSIGNED')) {
    const request = { kind: 'ASSIGNED', holder: nic.extId, family: 'IPV4' } as const
    await asVmm(subnet, '', () => leaseAddress(ctx, subnet, request))
  }
  return withHeld(ctx.store, nic)
}

async function withHeld(store: Reader, nic: EthernetNic): Promise<EthernetNic> {
  const { ipv4Config: asked, ...network } = nic.networkInfo
  const leases = await leasesOf(store, nic.extId)
  const values = (kind: string): string[] =>
    leases.filter((lease) => lease.kind === kind).map((lease) => formatAddress(addressOf(lease)))
  const [primary] = values('ASSIGNED')
  const secondary = values('ASSIGNED_SECONDARY')
  if (primary === undefined && secondary.length === 0) return nicOf(nic.extId, nic.backingInfo, network)
  const shown = (value: string): { value: string; prefixLength: number } => ({
    value,
    prefixLength: (asked?.ipAddress?.value === value ? asked.ipAddress.prefixLength : undefined) ?? 32,
  })
  const ipv4Config = {
    shouldAssignIp: true,
    ...(primary === undefined ? {} : { ipAddress: shown(primary) }),
    ...(secondary.length === 0 ? {} : { secondaryIpAddressList: secondary.map(shown) }),
  }
  return nicOf(nic.extId, nic.backingInfo, { ...network, ipv4Config })
}

export async function releaseNics(store: Transaction, vmExtId: string, nics: readonly NicEntity[]): Promise<void> {
  for (const { extId } of nics) await releaseHolder(store, extId as string)
  await store.removeWhere(MacLease, equals(pathOf(MacLease, 'vmExtId'), vmExtId))
}

async function subnetOf(store: Reader, nic: EthernetNic): Promise<SubnetEntity | undefined> {
  const extId = nic.networkInfo.subnet?.extId
  return extId === undefined ? undefined : store.get(Subnet, extId)
}

/** Leases fail with error codes of networking; this replaces them by the codes of vmm. */
async function asVmm<T>(subnet: SubnetEntity, address: string, take: () => Promise<T>): Promise<T> {
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
