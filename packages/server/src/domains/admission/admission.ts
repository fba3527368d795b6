/**
 * What forbids a mutation whatever its handler says: the product that it needs is disabled, the network controller is down,
 * or the cluster that it changes is registered and does not answer. Asked of every mutation, so that no kind can forget it.
 * Source: behaviour platform.md 5, 6; networking.md 1.20.
 */

import type { RequestInput } from '../../core/input/request-input.ts'
import { valueAt } from '../../core/pipeline/call.ts'
import type { WriteContext } from '../context.ts'
import { unreachable } from '../registrations/reachability.ts'
import { registrationOf } from '../registrations/registrations.ts'
import { requireControllerUp } from './network-controllers.ts'
import { productFor, requireProduct } from './products.ts'

/** @throws ApiError 409 PRODUCT_NOT_ENABLED, 503 NETWORK_CONTROLLER_DOWN, CLUSTER_UNREACHABLE */
export async function admit(ctx: WriteContext, { body, headers }: RequestInput): Promise<void> {
  const product = productFor(ctx.operation, body, ctx.target)
  if (product !== undefined) await requireProduct(ctx.store, product)
  await requireControllerUp(ctx, ctx.operation, body, ctx.target)
  // Managers are told of clusters that do not answer, too: that is how they leave.
  if (ctx.operation.namespace === 'platform') return
  for (const extId of clustersOf(ctx, body, headers.clusterId)) {
    const registration = await registrationOf(ctx.store, extId)
    if (registration?.connectivityStatus !== 'DISCONNECTED') continue
    throw unreachable(registration.remoteClusterDetails?.name ?? extId)
  }
}

/** Clusters that the request is about: of its target, of what that is a part of, of its body, of its header. */
function clustersOf(ctx: WriteContext, body: unknown, header: string | undefined): ReadonlySet<string> {
  const found = new Set<string>(header === undefined ? [] : [header])
  const look = (kind: string | undefined, entity: unknown): void => {
    const path = kind === 'Cluster' ? 'extId' : clusterPath(ctx, kind)
    const id = path === undefined ? undefined : valueAt(entity, path)
    if (typeof id === 'string') found.add(id)
  }
  const kind = ctx.operation.resource?.kind
  look(kind, ctx.target)
  if (kind !== 'Cluster') look(kind, body)
  for (const [parameter, entity] of Object.entries(ctx.parents)) look(ctx.operation.pathKinds[parameter], entity)
  return found
}

/** Where an entity of the kind names its cluster: what scopes of access compare. */
const clusterPath = (ctx: WriteContext, kind: string | undefined): string | undefined =>
  kind === undefined ? undefined : ctx.kinds.resource(kind)?.iam?.attributes['cluster_uuid']
