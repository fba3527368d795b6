/** Before every mutation, so that no handler forgets them. Source: behaviour platform.md 5, 6; networking.md 1.20. */

import type { RequestInput } from '../../core/input/request-input.ts'
import { valueAt } from '../../core/pipeline/call.ts'
import type { WriteContext } from '../context.ts'
import { unreachable } from '../registrations/reachability.ts'
import { registrationOf } from '../registrations/registrations.ts'
import { requireControllerUp } from './network-controllers.ts'
import { productFor, requireProduct } from './products.ts'

/** @throws ApiError 409 PRODUCT_NOT_ENABLED, 503 NETWORK_CONTROLLER_DOWN, CLUSTER_UNREACHABLE */
export async function requireUsable(ctx: WriteContext, { body, headers }: RequestInput): Promise<void> {
  const product = productFor(ctx.operation, body, ctx.target)
  if (product !== undefined) await requireProduct(ctx.store, product)
  await requireControllerUp(ctx, ctx.operation, body, ctx.target)
  // Unregistering a cluster must work when the cluster does not answer.
  if (ctx.operation.namespace === 'platform') return
  for (const extId of clustersOf(ctx, body, headers.clusterId)) {
    const registration = await registrationOf(ctx.store, extId)
    if (registration?.connectivityStatus !== 'DISCONNECTED') continue
    throw unreachable(registration.remoteClusterDetails?.name ?? extId)
  }
}

/** From the target, its parents, the body and the header. */
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

/** Access scopes use the same path. */
const clusterPath = (ctx: WriteContext, kind: string | undefined): string | undefined =>
  kind === undefined ? undefined : ctx.kinds.resource(kind)?.iam?.attributes['cluster_uuid']
