/** The header X-Cluster-Id of lists of cloud accounts. Source: behaviour networking.md 1.21. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { isInScope } from '../../core/access/scope.ts'
import { ApiError } from '../../core/api-error.ts'
import type { ReadContext } from '../context.ts'

/** @returns the id of the cluster @throws ApiError 404 for a cluster that the caller cannot see */
export async function namedCluster(
  ctx: ReadContext,
  { headers }: { readonly headers: { readonly clusterId?: string | undefined } },
): Promise<string> {
  const extId = headers.clusterId as string
  const cluster = await ctx.store.get(Cluster, extId)
  const visible = await ctx.services.access.referScope(ctx.caller, ctx.operation, Cluster)
  if (cluster === undefined || !isInScope(visible, cluster))
    throw new ApiError('NETWORKING_ENTITY_NOT_FOUND', { kind: 'Cluster', id: extId })
  return extId
}
