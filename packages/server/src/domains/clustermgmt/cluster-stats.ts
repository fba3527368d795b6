/** Source: behaviour clustermgmt.md 1.17. */
import { ClusterStats, clusterStatsOperations } from '@hyperplane/contract/clustermgmt/cluster-stats'
import { implement } from '../context.ts'
import { hostStatistics } from '../statistics/host-series.ts'
import { hostsOf } from '../storage-space/capacity.ts'

export const clusterStats = implement(clusterStatsOperations, {
  async getClusterStats(ctx, request) {
    const hosts = await hostsOf(ctx.store, ctx.target.extId)
    return hostStatistics(ctx, request, { cluster: ctx.target, hosts, extId: ctx.target.extId, kind: ClusterStats })
  },
})
