/** Source: behaviour volumes-storage.md 1.7. */
import { VolumeGroupStats, volumeGroupStatsOperations } from '@hyperplane/contract/volumes/volume-group-stats'
import { parseTime } from '../../core/time/clock.ts'
import { disksOf } from '../block-volumes/disks.ts'
import { implement } from '../context.ts'
import { blockStatistics } from '../statistics/group-series.ts'

export const volumeGroupStats = implement(volumeGroupStatsOperations, {
  async getVolumeGroupStats(ctx, request) {
    const { extId, clusterReference, createdAt } = ctx.target
    return blockStatistics(ctx, request, {
      clusterExtId: clusterReference,
      disks: await disksOf(ctx.store, extId),
      kind: VolumeGroupStats,
      since: createdAt === undefined ? 0 : (parseTime(createdAt) ?? 0),
      identity: { extId, volumeGroupExtId: extId },
      hydrationAt: (time) => ctx.drivers.blockStorage.hydrationOf(extId, time)?.remainingBytes,
    })
  },
})
