import { baseFields, read } from '../operation.ts'
import * as s from '../schema.ts'
import { mirrorReaders } from './roles.ts'
import { sampledRead, statType } from './sampled.ts'
import { TrafficMirror } from './traffic-mirror.ts'

/** Since the creation; value i belongs to sample i. Unlike other samples, JSON numbers. */
const counts = () => s.optional(s.arrayOf(s.integer()))

export const TrafficMirrorStats = s.object('networking.v4.stats.TrafficMirrorStats', {
  ...baseFields,
  statType: s.optional(statType),
  transmitByteCount: counts(),
  transmitPacketCount: counts(),
})

export const trafficMirrorStatsOperations = {
  getTrafficMirrorStats: read('/stats/traffic-mirrors/{extId}', TrafficMirrorStats, {
    of: TrafficMirror,
    roles: mirrorReaders,
    ...sampledRead(TrafficMirrorStats),
  }),
}
