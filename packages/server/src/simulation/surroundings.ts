import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
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

  async uplinksOf(hostExtId) {
    const switches = await ctx.store.find(VirtualSwitch)
    const uplinksIn = (of: (typeof switches)[number]): string[] =>
      of.clusters
        .flatMap(({ hosts }) => hosts.filter(({ extId }) => extId === hostExtId))
        .flatMap((host) => host.hostNics ?? [])
    return {
      all: switches.flatMap(uplinksIn),
      // A host is managed over the default switch of its cluster.
      management: switches.filter(({ isDefault }) => isDefault === true).flatMap(uplinksIn),
    }
  },
})
