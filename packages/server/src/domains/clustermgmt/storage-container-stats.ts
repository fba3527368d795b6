/** Source: behaviour clustermgmt.md 1.17. */
import { storageContainerStatsOperations } from '@hyperplane/contract/clustermgmt/storage-container-stats'
import { implement } from '../context.ts'
import { containerStatistics } from '../statistics/container-series.ts'

export const storageContainerStats = implement(storageContainerStatsOperations, {
  getStorageContainerStats: (ctx, request) => containerStatistics(ctx, request, ctx.target),
})
