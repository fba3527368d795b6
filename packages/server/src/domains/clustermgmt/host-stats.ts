/** Statistics of hosts. Source: behaviour clustermgmt.md 1.17. */
import { HostStats, hostStatsOperations } from '@hyperplane/contract/clustermgmt/host-stats'
import { implement } from '../context.ts'
import { hostStatistics } from '../statistics/host-series.ts'

export const hostStats = implement(hostStatsOperations, {
  async getHostStats(ctx, request) {
    const { target: host, parents } = ctx
    return hostStatistics(ctx, request, {
      cluster: parents['clusterExtId'],
      hosts: [host],
      extId: host.extId,
      kind: HostStats,
    })
  },
})
