/** The two ends that a body names. Source: behaviour networking.md 1.12, 1.13. */
import type { AnyResource, EntityOf } from '@hyperplane/contract'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { Layer2Stretch } from '@hyperplane/contract/networking/layer2-stretch'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { ApiError, refuseAll } from '../../../core/api-error.ts'
import type { RemoteNetworkEntities } from '../../../drivers/remote-networks.ts'
import type { SubnetEntity } from '../../addressing/address-plan.ts'
import { isManaged } from '../../addressing/leases.ts'
import { mayRefer, type ReadContext, type WriteContext } from '../../context.ts'
import { registrationOf } from '../../registrations/registrations.ts'
import { refuseWhileChanging } from '../busy.ts'
import { type GatewayEntity, localOf, remoteOf } from '../gateway/entity.ts'
import { fault } from '../ip-config.ts'
import { readRemote } from '../remote-entities.ts'
import type { StretchBody, StretchEntity } from './entity.ts'

export interface StretchReferences {
  readonly subnet: SubnetEntity
  readonly gateway: GatewayEntity
  /** Absent: the remote VTEP gateway is an entity of the other manager. */
  readonly remoteGateway?: GatewayEntity
  readonly remoteVteps?: readonly string[]
  readonly remoteIpConfig: StretchEntity['remoteIpConfig']
}

/** What the other manager shows; read before the transaction, because it may be slow. */
export type RemoteEnd =
  | { readonly refusal: ApiError }
  | {
      readonly refusal?: undefined
      readonly subnet?: RemoteNetworkEntities['subnets']
      readonly gateway?: RemoteNetworkEntities['vtepGateways']
    }

export async function readRemoteEnd(
  ctx: Pick<ReadContext, 'drivers' | 'secrets' | 'store'>,
  { remoteSiteParams: { connectionReference, pcClusterReference, stretchSubnetReference } }: StretchBody,
): Promise<RemoteEnd> {
  // Refused later, after faults of the body.
  if (pcClusterReference === undefined || (await registrationOf(ctx.store, pcClusterReference)) === undefined) return {}
  try {
    const subnets = await readRemote(ctx, pcClusterReference, 'subnets')
    const isOwnEntity = (await ctx.store.get(Gateway, connectionReference)) !== undefined
    const gateways = isOwnEntity ? [] : await readRemote(ctx, pcClusterReference, 'vtepGateways')
    const subnet = subnets.find(({ extId }) => extId === stretchSubnetReference)
    const gateway = gateways.find(({ extId }) => extId === connectionReference)
    return { ...(subnet && { subnet }), ...(gateway && { gateway }) }
  } catch (error) {
    if (error instanceof ApiError) return { refusal: error }
    throw error
  }
}

/** @throws ApiError 400 for entities of another sort, 404, 409 while one of them changes, 503 */
export async function referencesOf(
  ctx: WriteContext,
  body: StretchBody,
  stored: StretchEntity | undefined,
  prepared: RemoteEnd | undefined,
): Promise<StretchReferences> {
  const references =
    stored === undefined ? await newReferences(ctx, body, prepared ?? {}) : await storedReferences(ctx, stored)
  const { gateway, remoteGateway, subnet } = references
  refuseWhileChanging('Subnet', subnet)
  for (const each of remoteGateway === undefined ? [gateway] : [gateway, remoteGateway])
    refuseWhileChanging('Gateway', each)
  return references
}

async function storedReferences({ store }: WriteContext, stored: StretchEntity): Promise<StretchReferences> {
  const { gatewayExtId = '', remoteGatewayExtId, remoteIpConfig, remoteVteps, subnetExtId } = stored
  const remoteGateway = remoteGatewayExtId && ((await store.get(Gateway, remoteGatewayExtId)) as GatewayEntity)
  return {
    subnet: (await store.get(Subnet, subnetExtId as string)) as SubnetEntity,
    gateway: (await store.get(Gateway, gatewayExtId)) as GatewayEntity,
    remoteIpConfig,
    ...(remoteGateway && { remoteGateway }),
    ...(remoteVteps && { remoteVteps }),
  }
}

async function newReferences(ctx: WriteContext, body: StretchBody, end: RemoteEnd): Promise<StretchReferences> {
  const { localSiteParams: local, remoteSiteParams: remote } = body
  const subnet = await visible(ctx, Subnet, local.stretchSubnetReference)
  const gateway = await visible(ctx, Gateway, local.connectionReference)
  const remoteGateway = await visible(ctx, Gateway, remote.connectionReference)
  refuseAll([
    ...(subnet === undefined ? [missing(ctx, body, 'localSiteParams/stretchSubnetReference', 'subnet')] : []),
    ...(gateway === undefined ? [missing(ctx, body, 'localSiteParams/connectionReference', 'gateway')] : []),
    ...(await managerFaults(ctx, body)),
  ])
  if (end.refusal !== undefined) throw end.refusal
  const hasRemoteGateway = remoteGateway !== undefined || end.gateway !== undefined
  refuseAll([
    ...(end.subnet === undefined
      ? [missing(ctx, body, 'remoteSiteParams/stretchSubnetReference', 'remote subnet')]
      : []),
    ...(hasRemoteGateway ? [] : [missing(ctx, body, 'remoteSiteParams/connectionReference', 'gateway')]),
  ])
  refuseUnfit(subnet!, gateway as GatewayEntity, remoteGateway as GatewayEntity | undefined)
  return {
    subnet: subnet!,
    gateway: gateway as GatewayEntity,
    remoteIpConfig: end.subnet?.ipConfig ?? [],
    ...(remoteGateway === undefined
      ? { remoteVteps: end.gateway?.addresses ?? [] }
      : { remoteGateway: remoteGateway as GatewayEntity }),
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

/** The managers of both sites. */
async function managerFaults(ctx: WriteContext, body: StretchBody): Promise<readonly ApiError[]> {
  const { localSiteParams: local, remoteSiteParams: remote } = body
  const own = await ctx.store.findOne(DomainManager, { isOwn: true })
  const path = 'remoteSiteParams/pcClusterReference'
  const isLocalFaulty = ![undefined, own?.extId].includes(local.pcClusterReference)
  return [
    ...(isLocalFaulty
      ? [fault('localSiteParams/pcClusterReference', `expected this manager, ${own?.extId}, or none`)]
      : []),
    ...(remote.pcClusterReference === own?.extId
      ? [fault(path, 'expected another manager than this one')]
      : (await registrationOf(ctx.store, remote.pcClusterReference ?? '')) === undefined
        ? [missing(ctx, body, path, 'domain manager')]
        : []),
  ]
}

/** @throws ApiError 400 for entities of another sort */
function refuseUnfit(subnet: SubnetEntity, gateway: GatewayEntity, remoteGateway: GatewayEntity | undefined): void {
  const path = 'localSiteParams/connectionReference'
  const { clusterReference, isExternal, name } = subnet
  const isNearby = [undefined, gateway.deployment?.clusterReference].includes(clusterReference)
  refuseAll([
    ...(isManaged(subnet) && isExternal !== true
      ? []
      : [fault('localSiteParams/stretchSubnetReference', 'expected a managed subnet that is not external')]),
    ...(localOf(gateway)?.localVtepService === undefined
      ? [fault(path, 'expected a local gateway with a VTEP service')]
      : []),
    ...(isNearby ? [] : [fault(path, `expected a gateway on the cluster of the subnet ${name}`)]),
    ...(remoteGateway !== undefined && remoteOf(remoteGateway)?.remoteVtepService === undefined
      ? [fault('remoteSiteParams/connectionReference', 'expected a remote gateway with a VTEP service')]
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
