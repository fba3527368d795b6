/** Nexthops of static routes. Source: behaviour networking.md 1.6. */
import type { BodyOf, EntityOf } from '@hyperplane/contract'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import type { Route } from '@hyperplane/contract/networking/route'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VpnConnection } from '@hyperplane/contract/networking/vpn-connection'
import { ApiError, refuseAll } from '../../core/api-error.ts'
import {
  type Address,
  type Family,
  formatAddress,
  isInRange,
  type Prefix,
  readAddress,
  textOf,
  writeAddress,
} from '../../core/ip-address.ts'
import type { RouteNexthop } from '../../drivers/virtual-routing.ts'
import type { Reader } from '../../store/store.ts'
import { families, hostsOf, planOf, type SubnetEntity } from '../addressing/address-plan.ts'
import { mayRefer, type WriteContext } from '../context.ts'
import { refuseDuringCreationOrDeletion } from './busy.ts'
import { vpcOf } from './gateway/entity.ts'
import type { VpcEntity } from './gateway-nodes.ts'
import { hostFaults, invalidField } from './ip-config.ts'
import { prefixOfSubnet, readSubnet } from './ip-subnet.ts'
import type { ConnectionEntity } from './vpn-connection/rules.ts'

export type RouteEntity = EntityOf<typeof Route>
export type RouteBody = BodyOf<typeof Route>
type Nexthop = NonNullable<RouteEntity['nexthop']>

const needsReference = new Set<Nexthop['nexthopType']>([
  'EXTERNAL_SUBNET',
  'LOCAL_SUBNET',
  'VPN_CONNECTION',
  'DIRECT_CONNECT_VIF',
])

export function routeFaults({ destination, nexthop }: RouteBody): readonly ApiError[] {
  const prefix = destination && readSubnet(destination, 'destination')
  return [
    ...(prefix === undefined ? [invalidField('destination', 'is required')] : 'first' in prefix ? [] : prefix),
    ...(nexthop === undefined ? [invalidField('nexthop', 'is required')] : nexthopFaults(nexthop)),
  ]
}

function nexthopFaults({ nexthopType, nexthopReference, nexthopIpAddress }: Nexthop): readonly ApiError[] {
  const faults = nexthopIpAddress === undefined ? [] : hostFaults(nexthopIpAddress, 'nexthop/nexthopIpAddress')
  const isReferring = needsReference.has(nexthopType)
  if (isReferring && nexthopReference === undefined)
    faults.push(invalidField('nexthop/nexthopReference', `is required for the nexthop type ${nexthopType}`))
  if (!isReferring && nexthopReference !== undefined)
    faults.push(invalidField('nexthop/nexthopReference', `expected none for the nexthop type ${nexthopType}`))
  if (!isReferring && nexthopIpAddress === undefined)
    faults.push(invalidField('nexthop/nexthopIpAddress', `is required for the nexthop type ${nexthopType}`))
  return faults
}

/** Subnets that the router of the VPC reaches directly, also after an update of the VPC that is running. */
export interface Reach {
  readonly local: readonly SubnetEntity[]
  readonly external: readonly SubnetEntity[]
}

export async function reachOf(store: Reader, vpc: VpcEntity): Promise<Reach> {
  const staying = vpc.change?.externalSubnets?.map(({ subnetReference }) => subnetReference)
  const attached = (vpc.externalSubnets ?? []).map(({ subnetReference }) => subnetReference)
  const usable = attached.filter((extId) => staying?.includes(extId) ?? true)
  return {
    local: (await store.findWhere(Subnet, { vpcReference: vpc.extId })).filter(
      (each) => each.change?.verb !== 'delete',
    ),
    external: await store.getMany(Subnet, usable),
  }
}

/** @throws ApiError 404 when the caller may not refer to what the nexthop names, or there is no such entity */
export async function requireVisibleNexthop(ctx: WriteContext, body: RouteBody): Promise<void> {
  const { nexthopType, nexthopReference } = body.nexthop as Nexthop
  if (nexthopReference === undefined) return
  // There are no direct connections that a reference could name.
  if (nexthopType === 'VPN_CONNECTION') {
    if (await mayRefer(ctx, VpnConnection, await ctx.store.get(VpnConnection, nexthopReference))) return
  } else if (nexthopType !== 'DIRECT_CONNECT_VIF') {
    if (await mayRefer(ctx, Subnet, await ctx.store.get(Subnet, nexthopReference))) return
  }
  const values = {
    verb: ctx.operation.verb,
    kind: 'route',
    name: body.name ?? 'without a name',
    referencedKind: referencedKinds[nexthopType] ?? nexthopType,
    referencedExtId: nexthopReference,
  }
  throw new ApiError('NETWORKING_REFERENCE_NOT_FOUND', values, { extra: { attributePath: 'nexthop/nexthopReference' } })
}

const referencedKinds: { readonly [type in Nexthop['nexthopType']]?: string } = {
  LOCAL_SUBNET: 'subnet',
  EXTERNAL_SUBNET: 'subnet',
  VPN_CONNECTION: 'VPN connection',
  DIRECT_CONNECT_VIF: 'direct connection',
}

/** @returns the connection whose tunnel packets enter @throws ApiError 400 for one of another VPC, 409 for a busy one */
export async function connectionTowards(
  store: Reader,
  { destination, nexthop }: RouteBody,
  vpc: VpcEntity,
): Promise<ConnectionEntity> {
  const { nexthopIpAddress, nexthopReference } = nexthop as Nexthop
  const connection = (await store.get(VpnConnection, nexthopReference as string)) as ConnectionEntity
  const gateway = await store.get(Gateway, connection.localGatewayReference)
  refuseAll([
    ...(gateway !== undefined && vpcOf(gateway) === vpc.extId
      ? []
      : [invalidField('nexthop/nexthopReference', `expected a VPN connection of a gateway of the VPC ${vpc.name}`)]),
    ...(nexthopIpAddress === undefined
      ? []
      : [invalidField('nexthop/nexthopIpAddress', 'expected none for the nexthop type VPN_CONNECTION')]),
    ...(prefixOfSubnet(destination!).family === 'IPV4'
      ? []
      : [invalidField('destination', 'expected an IPv4 prefix: the interfaces of tunnels have IPv4 addresses')]),
  ])
  refuseDuringCreationOrDeletion('VPN connection', connection)
  return connection
}

/** @returns the subnet through which packets leave the router @throws ApiError 400 */
export function subnetTowards(body: RouteBody, { local, external }: Reach): SubnetEntity {
  const { nexthopType, nexthopReference, nexthopIpAddress } = body.nexthop as Nexthop
  const { family } = prefixOfSubnet(body.destination!)
  if (nexthopType === 'IP_ADDRESS') {
    const address = readAddress(nexthopIpAddress!) as Address
    if (address.family !== family)
      throw invalidField('nexthop/nexthopIpAddress', `expected an ${named[family]} address`)
    const holding = [...local, ...external].find((subnet) => {
      const prefix = planOf(subnet.ipConfig)[family]?.prefix
      return prefix !== undefined && isInRange(hostsOf(prefix), address.value)
    })
    if (holding !== undefined) return holding
    const expected = 'expected an address in a subnet of the VPC or in an attached external subnet'
    throw invalidField('nexthop/nexthopIpAddress', `${expected}, found ${formatAddress(address)}`)
  }
  const [candidates, what] =
    nexthopType === 'LOCAL_SUBNET'
      ? ([local, 'a subnet of the VPC'] as const)
      : ([external, 'an external subnet that is attached to the VPC'] as const)
  const subnet = candidates.find(({ extId }) => extId === nexthopReference)
  const path = 'nexthop/nexthopReference'
  if (subnet === undefined) throw invalidField(path, `expected ${what}, found ${nexthopReference}`)
  if (planOf(subnet.ipConfig)[family] === undefined)
    throw invalidField(
      path,
      `expected a subnet with ${named[family]} addresses, as the destination; ${subnet.name} has none`,
    )
  const gateway = gatewayOf(subnet, family)
  if (nexthopIpAddress === undefined || (gateway !== undefined && textOf(nexthopIpAddress) === formatAddress(gateway)))
    return subnet
  const expected = gateway === undefined ? 'expected none' : `expected the gateway ${formatAddress(gateway)}, or none`
  throw invalidField('nexthop/nexthopIpAddress', `${expected}: the subnet ${subnet.name} decides it`)
}

const named: Readonly<Record<Family, string>> = { IPV4: 'IPv4', IPV6: 'IPv6' }

function gatewayOf(subnet: SubnetEntity, family: Family): Address | undefined {
  const value = planOf(subnet.ipConfig)[family]?.gateway
  return value === undefined ? undefined : { family, value }
}

/** Without values that follow from the subnet. */
export function storedNexthop({ nexthopType, nexthopReference, nexthopIpAddress }: Nexthop): Nexthop {
  if (nexthopType !== 'IP_ADDRESS') return { nexthopType, nexthopReference }
  return { nexthopType, nexthopIpAddress: writeAddress(readAddress(nexthopIpAddress!) as Address) }
}

export function fabricNexthop({ nexthopType, nexthopReference, nexthopIpAddress }: Nexthop): RouteNexthop {
  if (nexthopReference === undefined) return { address: textOf(nexthopIpAddress) as string }
  return nexthopType === 'VPN_CONNECTION' ? { connectionExtId: nexthopReference } : { subnetExtId: nexthopReference }
}

/** @param named what the nexthop refers to, if the caller may see it */
export function shownNexthop(nexthop: Nexthop, { family }: Prefix, named: Named | undefined): Nexthop {
  if (nexthop.nexthopType === 'IP_ADDRESS') return { ...nexthop, nexthopName: textOf(nexthop.nexthopIpAddress) }
  const { connection, subnet } = named ?? {}
  if (connection !== undefined) return { ...nexthop, nexthopName: connection.name }
  const gateway = subnet && gatewayOf(subnet, family)
  return {
    ...nexthop,
    ...(subnet !== undefined && { nexthopName: subnet.name }),
    ...(gateway !== undefined && { nexthopIpAddress: writeAddress(gateway) }),
  }
}

export interface Named {
  readonly subnet?: SubnetEntity
  readonly connection?: ConnectionEntity
}

export const coveringSubnet = (destination: Prefix, { local }: Reach): SubnetEntity | undefined =>
  local.find((subnet) =>
    families.some((family) => {
      const prefix = planOf(subnet.ipConfig)[family]?.prefix
      return (
        family === destination.family &&
        prefix !== undefined &&
        prefix.first <= destination.first &&
        destination.last <= prefix.last
      )
    }),
  )
