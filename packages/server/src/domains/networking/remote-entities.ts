/** Networks of registered managers, read from them at each request. Source: behaviour networking.md 1.13. */
import type { AnyResource } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import {
  RemoteSubnet,
  RemoteVpnConnection,
  RemoteVtepGateway,
  remoteEntityOperations,
} from '@hyperplane/contract/networking/remote-entities'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { VpnConnection } from '@hyperplane/contract/networking/vpn-connection'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { Registration } from '@hyperplane/contract/platform/registration'
import { ApiError } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import { formatPrefix } from '../../core/ip-address.ts'
import { listOf } from '../../core/standard.ts'
import { RemoteFault } from '../../drivers/remote-managers.ts'
import type { RemoteNetworkEntities, RemoteSort } from '../../drivers/remote-networks.ts'
import { planOf } from '../addressing/address-plan.ts'
import { isManaged } from '../addressing/leases.ts'
import { implement, mayRefer, type ReadContext } from '../context.ts'
import { registrationOf } from '../registrations/registrations.ts'
import { type GatewayEntity, localOf, vpcOf } from './gateway/entity.ts'
import { presentGateways } from './gateway/view.ts'
import { seen } from './seen.ts'
import { presentConnections } from './vpn-connection/view.ts'

type Asking = Pick<ReadContext, 'caller' | 'drivers' | 'operation' | 'secrets' | 'services' | 'store'>

const retryAfterSeconds = 5

export const remoteEntities = implement(remoteEntityOperations, {
  listRemoteSubnetsByClusterId: async (ctx, request) => listOf(await entitiesOf(ctx, request, 'subnets'), request),
  getRemoteSubnetForClusterById: (ctx, request) => single(ctx, request, 'subnets', RemoteSubnet),
  listRemoteVpnConnectionsByClusterId: async (ctx, request) =>
    listOf(await entitiesOf(ctx, request, 'vpnConnections'), request),
  getRemoteVpnConnectionForClusterById: (ctx, request) => single(ctx, request, 'vpnConnections', RemoteVpnConnection),
  listRemoteVtepGatewaysByClusterId: async (ctx, request) =>
    listOf(await entitiesOf(ctx, request, 'vtepGateways'), request),
  getRemoteVtepGatewayForClusterById: (ctx, request) => single(ctx, request, 'vtepGateways', RemoteVtepGateway),
})

interface OfManager {
  readonly path: { readonly clusterExtId: string }
}

/** @throws ApiError 404 for an id that is no manager, 503 */
async function entitiesOf<S extends RemoteSort>(
  ctx: ReadContext,
  { path: { clusterExtId } }: OfManager,
  sort: S,
): Promise<readonly RemoteNetworkEntities[S][]> {
  const manager = await ctx.store.get(DomainManager, clusterExtId)
  if (manager?.isOwn === true) return ownEntities[sort](ctx)
  return readRemote(ctx, clusterExtId, sort)
}

async function single<S extends RemoteSort>(
  ctx: ReadContext,
  request: OfManager & { readonly path: { readonly extId: string } },
  sort: S,
  { title }: AnyResource,
): Promise<RemoteNetworkEntities[S]> {
  const { extId } = request.path
  const found = (await entitiesOf(ctx, request, sort)).find((each) => each.extId === extId)
  if (found === undefined) throw new ApiError('NETWORKING_ENTITY_NOT_FOUND', { kind: title, id: extId })
  return found
}

/** @throws ApiError 404 for a manager that is not registered, 503 with Retry-After */
export async function readRemote<S extends RemoteSort>(
  ctx: Pick<Asking, 'drivers' | 'secrets' | 'store'>,
  managerExtId: string,
  sort: S,
): Promise<readonly RemoteNetworkEntities[S][]> {
  const registration = await registrationOf(ctx.store, managerExtId)
  const manager = await ctx.store.get(DomainManager, managerExtId)
  if (registration?.remoteClusterDetails?.clusterType !== 'DOMAIN_MANAGER' || manager === undefined)
    throw new ApiError('NETWORKING_ENTITY_NOT_FOUND', { kind: 'Domain manager', id: managerExtId })
  const { address = '', certificate = '', domainManagerExtId = '', extId, trustKey } = registration
  const key = ctx.secrets.open(Registration.kind, extId, 'trustKey', trustKey)
  try {
    const proof = { key, manager: { extId: domainManagerExtId } }
    return await ctx.drivers.remoteManagers.networkEntities({ address, certificate }, proof, sort)
  } catch (error) {
    if (!(error instanceof RemoteFault)) throw error
    const refusal = new ApiError(
      'REMOTE_SITE_UNREACHABLE',
      { name: manager.config.name, cause: error.message.replace(/\.$/, '') },
      { cause: error },
    )
    refusal.headers['Retry-After'] = String(retryAfterSeconds)
    throw refusal
  }
}

type Own = { readonly [S in RemoteSort]: (ctx: ReadContext) => Promise<RemoteNetworkEntities[S][]> }

/** The entities of this manager, as another one would see them. */
const ownEntities: Own = {
  async subnets(ctx) {
    const found = await seen(ctx, Subnet)
    const own = found.filter((subnet) => subnet.isExternal !== true && isManaged(subnet))
    return Promise.all(
      own.map(async (subnet) => {
        const { extId, name, description, subnetType, networkId, ipConfig, dhcpOptions, isAdvancedNetworking } = subnet
        const [plan] = Object.values(planOf(ipConfig))
        const ipPrefix = plan && formatPrefix(plan.prefix)
        return defined({
          ...{ extId, name, description, subnetType, networkId, ipConfig, dhcpOptions, isAdvancedNetworking, ipPrefix },
          ...{ isExternal: false, virtualSwitchReference: subnet.virtualSwitchReference },
          ...(await placeOf(ctx, subnet)),
        })
      }),
    )
  },
  async vtepGateways(ctx) {
    const found = (await seen(ctx, Gateway)) as GatewayEntity[]
    const own = found.filter((gateway) => localOf(gateway)?.localVtepService !== undefined)
    const shown = await presentGateways(ctx, own, { expand: new Set() })
    return Promise.all(
      shown.map(async (gateway) => {
        const { extId, name, isActive, highAvailabilityGroup, deployment } = gateway
        const { vxlanPort } = localOf(gateway)!.localVtepService!
        const place = { clusterReference: deployment?.clusterReference, vpcReference: vpcOf(gateway) }
        return defined({
          ...{ extId, name, vxlanPort, isActive, isLocal: true, highAvailabilityGroup, addresses: [] },
          ...(await placeOf(ctx, place)),
        })
      }),
    )
  },
  async vpnConnections(ctx) {
    const shown = await presentConnections(ctx, await seen(ctx, VpnConnection))
    return Promise.all(
      shown.map(async ({ change: _, ...connection }) => {
        const { preSharedKey: __, ...ipsecConfig } = connection.ipsecConfig
        const gateway = (await ctx.store.get(Gateway, connection.localGatewayReference)) as GatewayEntity
        const place = { clusterReference: gateway.deployment?.clusterReference, vpcReference: vpcOf(gateway) }
        return defined({ ...connection, ipsecConfig, ...(await placeOf(ctx, place)) })
      }),
    )
  },
}

async function placeOf(
  ctx: Asking,
  { clusterReference, vpcReference }: { readonly clusterReference?: string; readonly vpcReference?: string },
) {
  const cluster = await ctx.store.get(Cluster, clusterReference ?? '')
  const vpc = await ctx.store.get(Vpc, vpcReference ?? '')
  return {
    clusterReference,
    clusterName: (await mayRefer(ctx, Cluster, cluster)) ? cluster?.name : undefined,
    vpcReference,
    vpcName: (await mayRefer(ctx, Vpc, vpc)) ? vpc?.name : undefined,
  }
}
