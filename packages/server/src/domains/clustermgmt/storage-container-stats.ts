/** Source: behaviour clustermgmt.md 1.17. */
import { storageContainerStatsOperations } from '@hyperplane/contract/clustermgmt/storage-container-stats'
import { implement } from '../context.ts'
import { containerStatistics } from '../statistics/container-series.ts'
import { storagePoolOf } from '../storage-space/capacity.ts'
import { healthOver } from './alerts/health.ts'

export const storageContainerStats = implement(storageContainerStatsOperations, {
  async getStorageContainerStats(ctx, request) {
    const { extId, clusterExtId = '' } = ctx.target
    const concerned = new Set([extId, storagePoolOf(clusterExtId)])
    const healthAt = await healthOver(ctx.store, clusterExtId, ({ entityExtId }) => concerned.has(entityExtId))
    return containerStatistics(ctx, request, ctx.target, healthAt)
  },
})
