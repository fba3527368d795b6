/** ExternalStorage arrays. The free space is derived from the containers on the array. Source: behaviour platform.md 10. */
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { ExternalStorage, externalStorageOperations } from '@hyperplane/contract/platform/external-storage'
import { pathOf } from '../../core/standard.ts'
import { equals } from '../../odata/index.ts'
import { implement, type ReadContext } from '../context.ts'
import { poolUsage } from '../storage-space/capacity.ts'

export const externalStorage = implement(externalStorageOperations, {}, { present: [[ExternalStorage, withFreeSpace]] })

async function withFreeSpace(
  ctx: ReadContext,
  storages: readonly ExternalStorage[],
): Promise<readonly ExternalStorage[]> {
  return Promise.all(
    storages.map(async (storage) => ({
      ...storage,
      freeCapacityBytes: Math.max(0, (storage.totalCapacityBytes ?? 0) - (await usedBytesOf(ctx, storage.extId))),
    })),
  )
}

/** For each container the larger of reserved and written bytes: data is written into the reservation first. */
async function usedBytesOf(ctx: ReadContext, storageExtId: string): Promise<number> {
  const filter = equals(pathOf(StorageContainer, 'externalStorageExtId'), storageExtId)
  let usedBytes = 0
  for (const container of await ctx.store.find(StorageContainer, { filter })) {
    const pool = await poolUsage(ctx, container.clusterExtId as string)
    // The array makes its own copies, so the copies of the cluster do not count.
    const written = pool.containers.get(container.extId)?.logicalBytes ?? 0
    usedBytes += Math.max(container.logicalExplicitReservedCapacityBytes ?? 0, written)
  }
  return usedBytes
}
