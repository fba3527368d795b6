/** Source: behaviour clustermgmt.md 1.17. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { HostStats, hostStatsOperations } from '@hyperplane/contract/clustermgmt/host-stats'
import { implement, parentOf } from '../context.ts'
import { hostStatistics } from '../statistics/host-series.ts'
import { healthOver } from './alerts/health.ts'

export const hostStats = implement(hostStatsOperations, {
  async getHostStats(ctx, request) {
    const host = ctx.target
    const cluster = parentOf(ctx, 'clusterExtId', Cluster)
    return hostStatistics(ctx, request, {
      cluster,
      hosts: [host],
      extId: host.extId,
      kind: HostStats,
      healthAt: await healthOver(ctx.store, cluster.extId, ({ hostExtId }) => hostExtId === host.extId),
    })
  },
})
