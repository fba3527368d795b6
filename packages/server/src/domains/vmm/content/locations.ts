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

interface Located {
  readonly name: string
  readonly sizeBytes?: number
  readonly clusterLocationExtIds?: readonly string[]
}

/** @throws ApiError 409 while no cluster with the file is reachable */
export function download(
  ctx: Pick<ReadContext, 'drivers'>,
  { name, sizeBytes = 0, clusterLocationExtIds = [] }: Located,
  fileName: string,
  read: (clusterExtId: string) => AsyncIterable<Uint8Array>,
) {
  const clusterExtId = clusterLocationExtIds.find((location) => ctx.drivers.hardware.isReachable(location))
  if (clusterExtId === undefined)
    throw new ApiError('CONFLICT', { fault: `No cluster that holds the file of "${name}" can be reached.` })
  return {
    contentType: 'application/octet-stream',
    fileName: safeName(fileName) || 'file',
    contentLength: sizeBytes,
    content: read(clusterExtId),
  }
}

export const safeName = (name: string): string => name.replaceAll(/[^A-Za-z0-9._-]/g, '')
