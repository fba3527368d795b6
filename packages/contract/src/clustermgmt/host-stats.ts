/** Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.17, 2, 3. */
import { read, resource } from '../operation.ts'
import { seriesOf } from '../statistics.ts'
import { clusterStatisticsQuery, sharedSeries, statisticsRate, TimeValuePair, withBounds } from './cluster-stats.ts'
import { Host } from './host.ts'
import { clusterHostReaders } from './roles.ts'

export const HostStats = resource('clustermgmt.v4.stats.HostStats', {
  fields: {
    ...sharedSeries,
    ...seriesOf(['memoryOvercommitPoolSizePpm', ...withBounds(['overallMemoryUsagePpm'])], TimeValuePair),
  },
  title: 'host statistics',
  derived: true,
})

export const hostStatsOperations = {
  getHostStats: read('/stats/clusters/{clusterExtId}/hosts/{extId}', HostStats.schema, {
    of: Host,
    iam: 'View_Host_Stats',
    envelope: 'clustermgmt.v4.stats.HostStatsApiResponse',
    roles: clusterHostReaders,
    rateLimit: statisticsRate,
    query: clusterStatisticsQuery,
    select: 'any',
  }),
}
