/** One series of points for each figure. Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.17, 2, 3. */
import { names } from '../names.ts'
import { perSecond, read, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { seriesOf, statisticsQuery } from '../statistics.ts'
import { Cluster } from './cluster.ts'
import { clusterHostReaders } from './roles.ts'

/** Both are optional in v4.0; default: the last hour. */
export const clusterStatisticsQuery = {
  ...statisticsQuery,
  $startTime: s.requiredSince('v4.2', s.timestamp()),
  $endTime: s.requiredSince('v4.2', s.timestamp()),
} as const

export const statisticsRate = perSecond(2, 2, 4)

export const TimeValuePair = s.object('clustermgmt.v4.stats.TimeValuePair', {
  timestamp: s.optional(s.timestamp()),
  value: s.optional(s.integer()),
})

/** With bounds of what is usual at that hour: `<name>LowerBuf` and `<name>UpperBuf`. */
const bounded = names(`
  aggregateHypervisorMemoryUsagePpm, controllerAvgIoLatencyUsecs, controllerAvgReadIoLatencyUsecs,
  controllerAvgWriteIoLatencyUsecs, controllerNumIops, controllerNumReadIops, controllerNumWriteIops,
  controllerReadIoBandwidthKbps, controllerWriteIoBandwidthKbps, hypervisorCpuUsagePpm, ioBandwidthKbps
`)

export const withBounds = <const N extends readonly string[]>(figures: N) =>
  figures.flatMap((name: N[number]) => [name, `${name}LowerBuf` as const, `${name}UpperBuf` as const])

export const sharedSeries = seriesOf(
  [
    ...withBounds(bounded),
    ...names(`
      cpuCapacityHz, cpuUsageHz, freePhysicalStorageBytes, healthCheckScore, logicalStorageUsageBytes,
      memoryCapacityBytes, overallMemoryUsageBytes, overcommittedVmsReclaimableMemoryBytes, powerConsumptionInstantWatt,
      storageCapacityBytes, storageUsageBytes
    `),
  ],
  TimeValuePair,
)

export const ClusterStats = resource('clustermgmt.v4.stats.ClusterStats', {
  fields: {
    ...sharedSeries,
    ...seriesOf(
      ['overallSavingsBytes', 'overallSavingsRatio', 'recycleBinUsageBytes', 'snapshotCapacityBytes'],
      TimeValuePair,
    ),
  },
  title: 'cluster statistics',
  derived: true,
})

export const clusterStatsOperations = {
  getClusterStats: read('/stats/clusters/{extId}', ClusterStats.schema, {
    of: Cluster,
    envelope: 'clustermgmt.v4.stats.ClusterStatsApiResponse',
    roles: clusterHostReaders,
    rateLimit: statisticsRate,
    query: clusterStatisticsQuery,
    select: 'any',
  }),
}
