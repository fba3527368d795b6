/** Source: behaviour clustermgmt.md 1.17. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { HostStats, hostStatsOperations } from '@hyperplane/contract/clustermgmt/host-stats'
import { implement, parentOf } from '../context.ts'
import { hostStatistics } from '../statistics/host-series.ts'

export const hostStats = implement(hostStatsOperations, {
  async getHostStats(ctx, request) {
    const host = ctx.target
    return hostStatistics(ctx, request, {
      cluster: parentOf(ctx, 'clusterExtId', Cluster),
      hosts: [host],
      extId: host.extId,
      kind: HostStats,
    })
  },
})
