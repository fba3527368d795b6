/** Mutations of anything on an unreachable cluster are refused. Source: behaviour clustermgmt.md 1.2 (isAvailable), 1.18. */

import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { ApiError } from '../../core/api-error.ts'
import { rowWithId } from '../../core/standard.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Reader } from '../../store/store.ts'
import { DriverError, type Step } from '../context.ts'

interface Asking {
  readonly drivers: Drivers
  readonly store: Reader
}

const retryAfterSeconds = 5

export function unreachable(name: string): ApiError {
  const error = new ApiError('CLUSTER_UNREACHABLE', { name })
  error.headers['Retry-After'] = String(retryAfterSeconds)
  return error
}

/** @throws ApiError 503 with Retry-After, 409 while the cluster is destroyed */
export function requireReachable(
  ctx: Pick<Asking, 'drivers'>,
  cluster: { readonly extId: string; readonly name: string },
): void {
  const taskExtId = ctx.drivers.hardware.servicesStoppedBy(cluster.extId)
  if (taskExtId !== undefined) throw new ApiError('CLUSTER_BUSY', { name: cluster.name, taskExtId })
  if (!ctx.drivers.hardware.isReachable(cluster.extId)) throw unreachable(cluster.name)
}

export async function requireClusterReachable(ctx: Asking, clusterExtId: string | undefined): Promise<void> {
  if (clusterExtId === undefined) return
  const cluster = await ctx.store.get(Cluster, clusterExtId)
  requireReachable(ctx, cluster ?? { extId: clusterExtId, name: clusterExtId })
}

/** @throws ApiError 409 for operation mode READ_ONLY */
export function refuseReadOnly(cluster: Cluster, what: string): void {
  if (cluster.config?.operationMode !== 'READ_ONLY') return
  throw new ApiError('CONFLICT', {
    fault: `The cluster "${cluster.name}" is in the operation mode READ_ONLY, which takes no new ${what}.`,
  })
}

/** First step of a task: the cluster may have left or become unreachable since the request was accepted. */
export const checkCluster = <I>(clusterOf: (input: I) => string | undefined): Step<I> => ({
  name: 'check',
  progress: 5,
  run: async (ctx, input) => {
    const extId = clusterOf(input)
    if (extId === undefined) return
    const cluster = await rowWithId(ctx.store, Cluster, extId, 'clusterExtId')
    const taskExtId = ctx.drivers.hardware.servicesStoppedBy(extId)
    if (taskExtId !== undefined) throw new ApiError('CLUSTER_BUSY', { name: cluster.name, taskExtId })
    if (!ctx.drivers.hardware.isReachable(extId)) {
      throw DriverError.retryable(`the cluster "${cluster.name}" does not answer`)
    }
  },
  // No undo: the step only reads.
})
