/** Files on clusters: images and OVAs. Source: behaviour vmm.md 1.8, 1.11. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { ApiError } from '../../../core/api-error.ts'
import type { ReadContext, WriteContext } from '../../context.ts'
import { requireClusterReachable } from '../../registrations/reachability.ts'
import { fault } from '../../virtual-machines/fault.ts'
import { isNative } from '../vm/create/clusters.ts'

export const distinct = (extIds: readonly string[]): string[] => [...new Set(extIds)]

/** @throws ApiError 400 for a cluster without the native hypervisor, 409 for one that is not reachable */
export async function requireLocations(ctx: WriteContext, extIds: readonly string[]): Promise<void> {
  for (const cluster of await ctx.store.getMany(Cluster, extIds)) {
    if (!isNative(cluster)) throw fault('clusterLocationExtIds', 'clusters of the native hypervisor', cluster.name)
    await requireClusterReachable(ctx, cluster.extId)
  }
}

export function holderOf(
  ctx: Pick<ReadContext, 'drivers'>,
  { name, clusterLocationExtIds = [] }: { readonly name: string; readonly clusterLocationExtIds?: readonly string[] },
): string {
  const clusterExtId = clusterLocationExtIds.find((location) => ctx.drivers.hardware.isReachable(location))
  if (clusterExtId !== undefined) return clusterExtId
  throw new ApiError('CONFLICT', { fault: `No cluster that holds the file of "${name}" can be reached.` })
}
