/** The two ends that a body names. Source: behaviour networking.md 1.12, 1.13. */
import type { AnyResource, EntityOf } from '@hyperplane/contract'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { Layer2Stretch } from '@hyperplane/contract/networking/layer2-stretch'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VpnConnection } from '@hyperplane/contract/networking/vpn-connection'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { ApiError, refuseAll } from '../../../core/api-error.ts'
import { defined } from '../../../core/defined.ts'
import type { RemoteNetworkEntities, RemoteSort } from '../../../drivers/remote-networks.ts'
import type { SubnetEntity } from '../../addressing/address-plan.ts'
import { isManaged } from '../../addressing/leases.ts'
import { mayRefer, type ReadContext, type WriteContext } from '../../context.ts'
import { registrationOf } from '../../registrations/registrations.ts'
import { refuseWhileChanging } from '../busy.ts'
import { type GatewayEntity, localOf, remoteOf } from '../gateway/entity.ts'
import { invalidField } from '../ip-config.ts'
import { readRemote } from '../remote-entities.ts'
import type { ConnectionEntity } from '../vpn-connection/rules.ts'
import type { StretchBody, StretchEntity } from './entity.ts'

export interface StretchReferences {
  readonly subnet: SubnetEntity
  /** Gateway of the connection, if there is one. */
  readonly gateway: GatewayEntity
  readonly connection?: ConnectionEntity
  /** Absent: the remote VTEP gateway is an entity of the other manager. */
  readonly remoteGateway?: GatewayEntity
  readonly remoteVteps?: readonly string[]
  readonly remoteIpConfig: StretchEntity['remoteIpConfig']
}

/** Entities of the other manager, read before the transaction, because it may answer slowly. */
export type RemoteEnd =
  | { readonly refusal: ApiError }
  | {
      readonly refusal?: undefined
      readonly subnet?: RemoteNetworkEntities['subnets']
      readonly gateway?: RemoteNetworkEntities['vtepGateways']
      readonly connection?: RemoteNetworkEntities['vpnConnections']
    }

export async function readRemoteEnd(
  ctx: Pick<ReadContext, 'drivers' | 'secrets' | 'store'>,
  {
    connectionType,
    remoteSiteParams: { connectionReference, pcClusterReference, stretchSubnetReference },
  }: StretchBody,
): Promise<RemoteEnd> {
  // Refused later, after faults of the body.
  if (pcClusterReference === undefined || (await registrationOf(ctx.store, pcClusterReference)) === undefined) return {}
  const one = async <S extends RemoteSort>(sort: S, id: string): Promise<RemoteNetworkEntities[S] | undefined> =>
    (await readRemote(ctx, pcClusterReference, sort)).find(({ extId }) => extId === id)
  try {
    const subnet = await one('subnets', stretchSubnetReference)
    if (connectionType === 'VPN')
      return defined({ subnet, connection: await one('vpnConnections', connectionReference) })
    const isOwnEntity = await ctx.store.has(Gateway, connectionReference)
    return defined({ subnet, gateway: isOwnEntity ? undefined : await one('vtepGateways', connectionReference) })
  } catch (error) {
    if (error instanceof ApiError) return { refusal: error }
    throw error
  }
}

/** @throws ApiError 400 for entities of another sort, 404, 409 while one of them changes, 503 */
export async function stretchReferences(
  ctx: WriteContext,
  body: StretchBody,
  stored: StretchEntity | undefined,
  prepared: RemoteEnd | undefined,
): Promise<StretchReferences> {
  const references =
    stored === undefined ? await newReferences(ctx, body, prepared ?? {}) : await storedReferences(ctx, stored)
  const { connection, gateway, remoteGateway, subnet } = references
  refuseWhileChanging('Subnet', subnet)
  if (connection !== undefined) refuseWhileChanging('VPN connection', connection)
  for (const each of remoteGateway === undefined ? [gateway] : [gateway, remoteGateway])
    refuseWhileChanging('Gateway', each)
  return references
}

async function storedReferences({ store }: WriteContext, stored: StretchEntity): Promise<StretchReferences> {
  const { gatewayExtId, remoteGatewayExtId = '', remoteIpConfig, remoteVteps, subnetExtId, vpnConnectionExtId } = stored
  const connection = await store.get(VpnConnection, vpnConnectionExtId ?? '')
  const remoteGateway = await store.get(Gateway, remoteGatewayExtId)
  return {
    subnet: (await store.get(Subnet, subnetExtId as string))!,
    gateway: (await store.get(Gateway, gatewayExtId ?? connection!.localGatewayReference)) as GatewayEntity,
    remoteIpConfig,
    ...(connection && { connection }),
    ...(remoteGateway && { remoteGateway: remoteGateway as GatewayEntity }),
    ...(remoteVteps && { remoteVteps }),
  }
}

async function newReferences(ctx: WriteContext, body: StretchBody, end: RemoteEnd): Promise<StretchReferences> {
  const { connectionType, localSiteParams: local, remoteSiteParams: remote } = body
  const isVpn = connectionType === 'VPN'
  const subnet = await visible(ctx, Subnet, local.stretchSubnetReference)
  const connection = isVpn ? await visible(ctx, VpnConnection, local.connectionReference) : undefined
  const gateway = isVpn
    ? await ctx.store.get(Gateway, connection?.localGatewayReference ?? '')
    : await visible(ctx, Gateway, local.connectionReference)
  const remoteGateway = isVpn ? undefined : await visible(ctx, Gateway, remote.connectionReference)
  const connectionKind = isVpn ? 'VPN connection' : 'gateway'
  refuseAll([
    ...(subnet === undefined ? [missing(ctx, body, 'localSiteParams/stretchSubnetReference', 'subnet')] : []),
    ...(gateway === undefined ? [missing(ctx, body, 'localSiteParams/connectionReference', connectionKind)] : []),
    ...(await managerFaults(ctx, body)),
  ])
  if (end.refusal !== undefined) throw end.refusal
  const hasRemoteEnd = (remoteGateway ?? end.gateway ?? end.connection) !== undefined
  refuseAll([
    ...(end.subnet === undefined
      ? [missing(ctx, body, 'remoteSiteParams/stretchSubnetReference', 'remote subnet')]
      : []),
    ...(hasRemoteEnd ? [] : [missing(ctx, body, 'remoteSiteParams/connectionReference', connectionKind)]),
  ])
  const own = { subnet: subnet!, gateway: gateway as GatewayEntity, ...(connection && { connection }) }
  refuseUnfit(own, remoteGateway as GatewayEntity | undefined)
  return {
    ...own,
    remoteIpConfig: end.subnet?.ipConfig ?? [],
    ...(remoteGateway && { remoteGateway: remoteGateway as GatewayEntity }),
    ...(end.gateway && { remoteVteps: end.gateway.addresses }),
  }
}

async function visible<R extends AnyResource>(
  ctx: WriteContext,
  kind: R,
  extId: string,
): Promise<EntityOf<R> | undefined> {
  const found = await ctx.store.get(kind, extId)
  return (await mayRefer(ctx, kind, found)) ? found : undefined
}

async function managerFaults(ctx: WriteContext, body: StretchBody): Promise<readonly ApiError[]> {
  const { localSiteParams: local, remoteSiteParams: remote } = body
  const own = await ctx.store.findOne(DomainManager, { isOwn: true })
  const path = 'remoteSiteParams/pcClusterReference'
  const isLocalFaulty = ![undefined, own?.extId].includes(local.pcClusterReference)
  return [
    ...(isLocalFaulty
      ? [invalidField('localSiteParams/pcClusterReference', `expected this manager, ${own?.extId}, or none`)]
      : []),
    // An unregistration removes the manager first, in the transaction that looks for stretches, and the registration later.
    ...(remote.pcClusterReference === own?.extId
      ? [invalidField(path, 'expected another manager than this one')]
      : (await ctx.store.has(DomainManager, remote.pcClusterReference ?? ''))
        ? []
        : [missing(ctx, body, path, 'domain manager')]),
  ]
}

/** @throws ApiError 400 for entities of another sort */
function refuseUnfit(
  { connection, gateway, subnet }: Pick<StretchReferences, 'connection' | 'gateway' | 'subnet'>,
  remoteGateway: GatewayEntity | undefined,
): void {
  const path = 'localSiteParams/connectionReference'
  const { clusterReference, isExternal, name } = subnet
  const isNearby = [undefined, gateway.deployment?.clusterReference].includes(clusterReference)
  const isFit = connection !== undefined || localOf(gateway)?.localVtepService !== undefined
  refuseAll([
    ...(isManaged(subnet) && isExternal !== true
      ? []
      : [invalidField('localSiteParams/stretchSubnetReference', 'expected a managed subnet that is not external')]),
    ...(isFit ? [] : [invalidField(path, 'expected a local gateway with a VTEP service')]),
    ...(isNearby ? [] : [invalidField(path, `expected a gateway on the cluster of the subnet ${name}`)]),
    ...(remoteGateway !== undefined && remoteOf(remoteGateway)?.remoteVtepService === undefined
      ? [invalidField('remoteSiteParams/connectionReference', 'expected a remote gateway with a VTEP service')]
      : []),
  ])
}

type ReferencePath =
  `${'localSiteParams' | 'remoteSiteParams'}/${'connection' | 'pcCluster' | 'stretchSubnet'}Reference`

function missing(ctx: WriteContext, body: StretchBody, attributePath: ReferencePath, referencedKind: string): ApiError {
  const [side, field] = attributePath.split('/') as ['localSiteParams', 'connectionReference']
  const values = { verb: ctx.operation.verb, kind: Layer2Stretch.title, name: body.name }
  return new ApiError(
    'NETWORKING_REFERENCE_NOT_FOUND',
    { ...values, referencedKind, referencedExtId: body[side][field] },
    { extra: { attributePath } },
  )
}
