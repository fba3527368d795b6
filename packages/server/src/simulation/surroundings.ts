import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import type { Clock } from '../core/time/clock.ts'
import { containerFree, largestDisk, poolUsage } from '../domains/storage-space/capacity.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { Surroundings } from '../drivers/simulated/events/index.ts'
import type { Reader } from '../store/store.ts'

export const surroundingsOf = (ctx: {
  readonly store: Reader
  readonly clock: Clock
  readonly drivers: Drivers
}): Surroundings => ({
  async roomOf(containerExtId) {
    const container = await ctx.store.get(StorageContainer, containerExtId)
    if (container?.clusterExtId === undefined) return { capacityBytes: 0, freeBytes: 0 }
    const pool = await poolUsage(ctx, container.clusterExtId)
    return { capacityBytes: largestDisk(pool.capacityBytes, container), freeBytes: containerFree(pool, container) }
  },
})
