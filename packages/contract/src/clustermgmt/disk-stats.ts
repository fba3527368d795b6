/** Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.17, 2, 3. */
import { names } from '../names.ts'
import { read, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { seriesOf } from '../statistics.ts'
import { clusterStatisticsQuery, statisticsRate } from './cluster-stats.ts'
import { Disk } from './disk.ts'
import { clusterHostReaders } from './roles.ts'

const TimeIntValuePair = s.object('common.v1.stats.TimeIntValuePair', {
  timestamp: s.optional(s.timestamp()),
  value: s.optional(s.integer()),
})

/** Base and peak: the least and the greatest reading of each interval. */
export const DiskStats = resource('clustermgmt.v4.stats.DiskStats', {
  fields: seriesOf(
    names(`
      diskAvgIoLatencyMicrosec, diskBaseIoBandwidthkbps, diskBaseIoLatencyMicrosec, diskBaseNumIops,
      diskBaseReadIoAvgLatencyMicrosec, diskBaseReadIoBandwidthkbps, diskBaseReadIops,
      diskBaseWriteIoAvgLatencyMicrosec, diskBaseWriteIoBandwidthkbps, diskBaseWriteIops, diskCapacityBytes,
      diskFreeBytes, diskIoBandwidthkbps, diskNumIops, diskPeakIoBandwidthkbps, diskPeakIoLatencyMicrosec,
      diskPeakNumIops, diskPeakReadIoAvgLatencyMicrosec, diskPeakReadIoBandwidthkbps, diskPeakReadIops,
      diskPeakWriteIoAvgLatencyMicrosec, diskPeakWriteIoBandwidthkbps, diskPeakWriteIops, diskReadIoAvgLatencyMicrosec,
      diskReadIoBandwidthkbps, diskReadIoPpm, diskReadIops, diskUsageBytes, diskUsagePpm, diskWriteIoAvgLatencyMicrosec,
      diskWriteIoBandwidthkbps, diskWriteIoPpm, diskWriteIops
    `),
    TimeIntValuePair,
  ),
  title: 'disk statistics',
  derived: true,
})

export const diskStatsOperations = {
  getDiskStats: read('/stats/disks/{extId}', DiskStats.schema, {
    of: Disk,
    roles: clusterHostReaders,
    rateLimit: statisticsRate,
    query: clusterStatisticsQuery,
  }),
}
