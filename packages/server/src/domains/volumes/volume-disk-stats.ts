/** Source: behaviour volumes-storage.md 1.7. */
import { VolumeDiskStats, volumeDiskStatsOperations } from '@hyperplane/contract/volumes/volume-disk-stats'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { implement, parentOf } from '../context.ts'
import { blockStatistics } from '../statistics/group-series.ts'

export const volumeDiskStats = implement(volumeDiskStatsOperations, {
  async getVolumeDiskStats(ctx, request) {
    const { extId } = ctx.target
    const usage = (await ctx.drivers.blockStorage.usageOf([extId])).get(extId)
    return blockStatistics(ctx, request, {
      clusterExtId: parentOf(ctx, 'volumeGroupExtId', VolumeGroup).clusterReference,
      disks: [ctx.target],
      kind: VolumeDiskStats,
      since: usage?.createdAt ?? 0,
      identity: { extId, volumeDiskExtId: extId },
    })
  },
})
