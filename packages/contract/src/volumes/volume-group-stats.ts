/** Source: catalogue volumes.json; behaviour volumes-storage.md 1.7, 2. */
import { names } from '../names.ts'
import { perSecond, read, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { seriesOf, statisticsQuery } from '../statistics.ts'
import { volumeStatsReaders } from './roles.ts'
import { VolumeGroup } from './volume-group.ts'

const TimeValuePair = s.object('volumes.v4.stats.TimeValuePair', {
  timestamp: s.optional(s.timestamp()),
  value: s.optional(s.integer()),
})

const points = <const N extends readonly string[]>(series: N) => seriesOf(series, TimeValuePair)

export const blockSeries = points(
  names(`
    controllerAvgIOLatencyUsecs, controllerAvgReadIOLatencyUsecs, controllerAvgWriteIOLatencyUsecs,
    controllerIOBandwidthKBps, controllerNumIOPS, controllerNumReadIOPS, controllerNumWriteIOPS,
    controllerReadIOBandwidthKBps, controllerUserBytes, controllerWriteIOBandwidthKBps
  `),
)

/** Default of the interval: the smallest one with which a series has at most 100 points. */
export const volumeStatistics = {
  roles: volumeStatsReaders,
  rateLimit: perSecond(2, 2, 4, 4),
  query: { ...statisticsQuery, $samplingInterval: s.optional(s.integer({ minimum: 1 })) },
  select: 'any',
} as const

export const VolumeGroupStats = resource('volumes.v4.stats.VolumeGroupStats', {
  fields: {
    volumeGroupExtId: s.readOnly(s.uuid()),
    ...blockSeries,
    ...points(['hydrationRemainingBytes']),
  },
  title: 'volume group statistics',
  derived: true,
})

export const volumeGroupStatsOperations = {
  getVolumeGroupStats: read('/stats/volume-groups/{extId}', VolumeGroupStats.schema, {
    ...volumeStatistics,
    of: VolumeGroup,
    iam: 'View_Volume_Group_Stats',
  }),
}
