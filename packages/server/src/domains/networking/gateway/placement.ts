/** Where a local gateway is, and its addresses there. Source: behaviour networking.md 1.3, 1.9. */
import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { ApiError } from '../../../core/api-error.ts'
import { derivedId } from '../../../core/ids/named-id.ts'
import {
  type Address,
  readAddress,
  textOf,
  type WireAddress,
  writeAddress,
  writeAsGiven,
} from '../../../core/ip-address.ts'
import { pathOf } from '../../../core/standard.ts'
import { equals } from '../../../odata/index.ts'
import type { Reader } from '../../../store/store.ts'
import { familyOf, planOf, type SubnetEntity } from '../../addressing/address-plan.ts'
import { isManaged, type LeaseKind, leaseAddress } from '../../addressing/leases.ts'
import type { WriteContext } from '../../context.ts'
import { requireClusterReachable } from '../../registrations/reachability.ts'
import { freeMemoryBytes } from '../../scheduling/scheduler.ts'
import { refuseDuringCreationOrDeletion } from '../busy.ts'
import type { VpcEntity } from '../gateway-nodes.ts'
import { refusal } from '../in-use.ts'
import { invalidField } from '../ip-config.ts'
import { reachOf } from '../route-nexthop.ts'
import { type GatewayBody, type GatewayEntity, type Local, localBgpOf, localOf, vpcOf } from './entity.ts'

export type Interface = NonNullable<NonNullable<GatewayEntity['deployment']>['interfaces']>[number]

export interface Placement {
  readonly clusterExtId: string
  readonly switchExtIds: readonly string[]
  /** The subnet of its interface; absent: a VLAN without one, or a VPC without an external subnet for it. */
  readonly subnet?: SubnetEntity
}

const interfaceMtu = 1500
const managementPath = 'deployment/managementInterface'

export async function placementOf(ctx: WriteContext, body: GatewayBody, stored?: GatewayEntity): Promise<Placement> {
  const vpcExtId = vpcOf(body)
  const subnet =
    vpcExtId === undefined ? await managementSubnet(ctx, body) : await uplinkIn(ctx, body, vpcExtId, stored)
  const named = stored?.deployment?.clusterReference ?? body.deployment?.clusterReference
  const clusterExtId = named ?? subnet?.clusterReference ?? (await roomiestCluster(ctx))
  await requireNative(ctx.store, clusterExtId)
  if (subnet?.clusterReference !== undefined && subnet.clusterReference !== clusterExtId)
    throw invalidField(
      'deployment/clusterReference',
      `expected ${subnet.clusterReference}, the cluster of the subnet ${subnet.name}`,
    )
  await requireClusterReachable(ctx, clusterExtId)
  const switchExtId = subnet?.virtualSwitchReference ?? (await defaultSwitch(ctx.store, clusterExtId))
  return {
    clusterExtId,
    switchExtIds: switchExtId === undefined ? [] : [switchExtId],
    ...(subnet !== undefined && { subnet }),
  }
}

async function managementSubnet(ctx: WriteContext, { deployment }: GatewayBody): Promise<SubnetEntity | undefined> {
  const { subnetReference, address, defaultGateway } = deployment?.managementInterface ?? {}
  const subnet = subnetReference === undefined ? undefined : await ctx.store.get(Subnet, subnetReference)
  if (subnet !== undefined) {
    refuseDuringCreationOrDeletion('Subnet', subnet)
    if (subnet.subnetType !== 'VLAN')
      throw invalidField(`${managementPath}/subnetReference`, `expected a VLAN subnet, found ${subnet.name}`)
    if (isManaged(subnet)) return subnet
  }
  const why = subnet === undefined ? 'without a subnet' : 'on a subnet that is not managed'
  if (address === undefined) throw invalidField(`${managementPath}/address`, `is required ${why}`)
  if (defaultGateway === undefined) throw invalidField(`${managementPath}/defaultGateway`, `is required ${why}`)
  return subnet
}

/** The external subnet through which the gateway reaches its peers. */
async function uplinkIn(
  ctx: WriteContext,
  body: GatewayBody,
  vpcExtId: string,
  stored: GatewayEntity | undefined,
): Promise<SubnetEntity | undefined> {
  const vpc = (await ctx.store.get(Vpc, vpcExtId)) as VpcEntity
  refuseDuringCreationOrDeletion('VPC', vpc)
  const { external } = await reachOf(ctx.store, vpc)
  const { localBgpService, localVpnService } = localOf(body) as Local
  if (localBgpService !== undefined && stored === undefined) await refuseSecondBgp(ctx, vpc, external)
  const [present] = stored?.deployment?.interfaces ?? []
  const nat = external.find(({ isNatEnabled }) => isNatEnabled === true)
  const routed = external.find(({ isNatEnabled }) => isNatEnabled !== true)
  const own = external.find(({ extId }) => extId === present?.subnetReference)
  const found = own ?? (localBgpService !== undefined ? routed : localVpnService !== undefined ? nat : (routed ?? nat))
  if (found !== undefined || localBgpService !== undefined) return found
  const needed = localVpnService === undefined ? 'an external subnet' : 'an external subnet with NAT'
  throw invalidField('vpcReference', `expected a VPC with ${needed}; ${vpc.name} has none`)
}

async function refuseSecondBgp(ctx: WriteContext, vpc: VpcEntity, external: readonly SubnetEntity[]): Promise<void> {
  const others = await ctx.store.find(Gateway, { refersTo: { kind: Vpc.kind, extId: vpc.extId } })
  const other = others.find((each) => localBgpOf(each) !== undefined)
  if (other !== undefined)
    throw new ApiError('NETWORKING_ENTITY_ALREADY_EXISTS', { kind: 'BGP gateway', fields: 'VPC' })
  if (vpc.vpcType === 'TRANSIT' || !external.some(({ subnetType }) => subnetType === 'OVERLAY')) return
  throw refusal(
    `The VPC ${vpc.name} is behind a transit VPC, whose BGP gateway speaks for it. Create the gateway in the transit VPC.`,
  )
}

const isNative = ({ config }: EntityOf<typeof Cluster>): boolean =>
  config?.hypervisorTypes?.includes('AHV') === true && config.clusterFunction?.includes('PRISM_CENTRAL') !== true

/** The reachable one with the most free memory. */
async function roomiestCluster(ctx: WriteContext): Promise<string> {
  let best: { readonly extId: string; readonly free: number } | undefined
  for (const { extId } of (await ctx.store.find(Cluster)).filter(isNative)) {
    if (!ctx.drivers.hardware.isReachable(extId)) continue
    const free = await freeMemoryBytes(ctx, extId)
    if (best === undefined || free > best.free) best = { extId, free }
  }
  if (best !== undefined) return best.extId
  throw invalidField('deployment/clusterReference', 'expected a cluster of the native hypervisor; none is reachable')
}

async function requireNative(store: Reader, clusterExtId: string): Promise<void> {
  const cluster = await store.get(Cluster, clusterExtId)
  if (cluster === undefined || !isNative(cluster))
    throw invalidField(
      'deployment/clusterReference',
      `expected a cluster of the native hypervisor, found ${cluster?.name ?? clusterExtId}`,
    )
}

export async function defaultSwitch(store: Reader, clusterExtId: string): Promise<string | undefined> {
  const filter = equals(pathOf(VirtualSwitch, 'clusters/extId'), clusterExtId)
  const found = await store.find(VirtualSwitch, { filter })
  return (found.find(({ isDefault }) => isDefault === true) ?? found[0])?.extId
}

/** Keeps present addresses that still fit. @throws ApiError 400, 409 */
export async function interfacesFor(
  ctx: WriteContext,
  gateway: GatewayEntity,
  { subnet }: Placement,
  stored: GatewayEntity | undefined,
): Promise<Interface[]> {
  const given = gateway.deployment?.managementInterface
  if (subnet === undefined && given === undefined) return []
  const [present] = stored?.deployment?.interfaces ?? []
  const isKept =
    present !== undefined &&
    present.subnetReference === subnet?.extId &&
    [undefined, textOf(present.ipAddress)].includes(textOf(given?.address))
  const ipAddress = isKept ? present.ipAddress : await addressFor(ctx, gateway, subnet, given?.address)
  const defaultGatewayAddress = given?.defaultGateway ?? gatewayOf(subnet, ipAddress)
  return [
    {
      ...(subnet !== undefined && { subnetReference: subnet.extId }),
      ...(ipAddress !== undefined && { ipAddress }),
      ...(defaultGatewayAddress !== undefined && { defaultGatewayAddress: writeAsGiven(defaultGatewayAddress) }),
      macAddress: macOf(gateway.extId),
      mtu: interfaceMtu,
    },
  ]
}

async function addressFor(
  ctx: WriteContext,
  gateway: GatewayEntity,
  subnet: SubnetEntity | undefined,
  requested: WireAddress | undefined,
): Promise<WireAddress> {
  if (subnet === undefined || !isManaged(subnet)) return writeAsGiven(requested as WireAddress)
  const isVpnInVpc = localOf(gateway)?.localVpnService !== undefined && vpcOf(gateway) !== undefined
  const kind: LeaseKind = isVpnInVpc ? 'FLOATING' : 'GATEWAY_INTERFACE'
  const family = familyOf(planOf(subnet.ipConfig))
  const terms = { kind, holder: gateway.extId, family, attributePath: `${managementPath}/address` } as const
  const address = requested && (readAddress(requested) as Address)
  return writeAddress(await leaseAddress(ctx, subnet, address === undefined ? terms : { ...terms, address }))
}

function gatewayOf(subnet: SubnetEntity | undefined, address: WireAddress | undefined): WireAddress | undefined {
  const family = address?.ipv4 === undefined ? 'IPV6' : 'IPV4'
  const value = planOf(subnet?.ipConfig)[family]?.gateway
  return value === undefined ? undefined : writeAddress({ family, value })
}

/** Locally administered, so that it is none of the addresses that NICs of VMs get. */
function macOf(gatewayExtId: string): string {
  const digits = derivedId('gateway MAC', gatewayExtId).replaceAll('-', '')
  return ['02', ...[0, 2, 4, 6, 8].map((at) => digits.slice(at, at + 2))].join(':')
}
