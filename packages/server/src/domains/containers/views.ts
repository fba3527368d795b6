/** Capacities and users for clustermgmt and storage v4.0.a3. Source: behaviour clustermgmt.md 1.9. */
import type { DataStore } from '@hyperplane/contract/clustermgmt/data-store'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { matchesScope } from '../../core/access/scope.ts'
import type { ReadContext } from '../context.ts'
import {
  containerFree,
  implicitlyReserved,
  largestDisk,
  type PoolUsage,
  poolCapacity,
  poolUsage,
} from '../storage-space/capacity.ts'
import { vmsThrough } from './datastores.ts'

/** A container may grow to the size of the pool. */
export async function withCapacity(
  ctx: ReadContext,
  containers: readonly StorageContainer[],
): Promise<readonly StorageContainer[]> {
  const pools = new Map<string | undefined, number>()
  for (const { clusterExtId } of containers) {
    if (!pools.has(clusterExtId)) pools.set(clusterExtId, await poolCapacity(ctx, clusterExtId as string))
  }
  return containers.map((container) => ({
    ...container,
    maxCapacityBytes: pools.get(container.clusterExtId) as number,
    logicalImplicitReservedCapacityBytes: implicitlyReserved(container.extId, ctx.drivers),
  }))
}

export async function withSpace(ctx: ReadContext, datastores: readonly DataStore[]): Promise<readonly DataStore[]> {
  const pools = new Map<string, PoolUsage>()
  const shown = new Map<string, Partial<DataStore>>()
  const scope = await ctx.scopeOf(ExternVm.kind)
  const keyOf = ({ containerExtId, datastoreName }: DataStore): string => `${containerExtId}/${datastoreName}`
  for (const datastore of datastores) {
    const { clusterExtId = '', containerExtId = '' } = datastore
    if (shown.has(keyOf(datastore))) continue
    const container = await ctx.store.get(StorageContainer, containerExtId)
    if (container === undefined) continue
    const pool = pools.get(clusterExtId) ?? (await poolUsage(ctx, clusterExtId))
    pools.set(clusterExtId, pool)
    const vms = await vmsThrough(ctx, clusterExtId, datastore)
    shown.set(keyOf(datastore), {
      capacityBytes: largestDisk(pool.capacityBytes, container),
      freeSpaceBytes: containerFree(pool, container),
      vmNames: vms.filter((vm) => matchesScope(scope, vm)).flatMap(({ name }) => name ?? []),
    })
  }
  return datastores.map((datastore) => ({ ...datastore, ...shown.get(keyOf(datastore)) }))
}
