/** Source: behaviour clustermgmt.md 1.17. */
import { ClusterStats, clusterStatsOperations } from '@hyperplane/contract/clustermgmt/cluster-stats'
import { implement } from '../context.ts'
import { hostStatistics } from '../statistics/host-series.ts'
import { hostsOf } from '../storage-space/capacity.ts'
import { healthOver } from './alerts/health.ts'

export const clusterStats = implement(clusterStatsOperations, {
  async getClusterStats(ctx, request) {
    const hosts = await hostsOf(ctx.store, ctx.target.extId)
    const { extId } = ctx.target
    const healthAt = await healthOver(ctx.store, extId)
    return hostStatistics(ctx, request, { cluster: ctx.target, hosts, extId, kind: ClusterStats, healthAt })
  },
})
