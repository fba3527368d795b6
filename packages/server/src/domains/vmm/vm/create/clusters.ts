/** Chooses the cluster of a new VM. Source: behaviour vmm.md 1.1, 1.2. */

import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { ApiError } from '../../../../core/api-error.ts'
import { mayRefer } from '../../../context.ts'
import { freeMemoryBytes } from '../../../scheduling/scheduler.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import type { Planning } from './planning.ts'

type ClusterEntity = EntityOf<typeof Cluster>

/** The body names an entity that only these clusters have. */
export interface Constraint {
  readonly path: string
  readonly what: string
  readonly clusterExtIds: readonly string[]
}

export const isNative = (cluster: ClusterEntity): boolean =>
  cluster.config?.hypervisorTypes?.includes('AHV') === true &&
  cluster.config.clusterFunction?.includes('PRISM_CENTRAL') !== true

/**
 * The named cluster; else the one with the most free memory that meets all constraints and that the caller may name.
 * @throws ApiError 400 not native, or none meets all constraints; 409 the named cluster does not meet one
 */
export async function chooseCluster(
  ctx: Planning,
  named: string | undefined,
  constraints: readonly Constraint[],
): Promise<ClusterEntity> {
  if (named !== undefined) {
    const cluster = await ctx.store.get(Cluster, named)
    if (cluster === undefined || !isNative(cluster)) {
      throw fault('cluster/extId', 'a cluster of the native hypervisor', cluster?.name ?? named)
    }
    const [lacking] = constraints.filter(({ clusterExtIds }) => !clusterExtIds.includes(named))
    if (lacking === undefined) return cluster
    throw new ApiError('CONFLICT', { fault: `${lacking.path}: ${lacking.what} is not on the cluster ${cluster.name}.` })
  }
  const natives = (await ctx.store.find(Cluster)).filter(isNative)
  const fitting = natives.filter(
    ({ extId }) =>
      ctx.drivers.hardware.isReachable(extId) &&
      constraints.every(({ clusterExtIds }) => clusterExtIds.includes(extId)),
  )
  let best: { cluster: ClusterEntity; free: number } | undefined
  for (const cluster of fitting) {
    if (!(await mayRefer(ctx, Cluster, cluster))) continue
    const free = await freeMemoryBytes(ctx, cluster.extId)
    if (best === undefined || free > best.free) best = { cluster, free }
  }
  if (best !== undefined) return best.cluster
  throw fault('cluster/extId', 'a cluster: no native one has all that the body names', undefined)
}
