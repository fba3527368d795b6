/** Bytes and packets that a traffic mirror copied. Source: catalogue networking.json; behaviour networking.md 1.16, 3.3. */
import { names } from '../names.ts'
import { baseFields, perSecond, read } from '../operation.ts'
import * as s from '../schema.ts'
import { mirrorReaders } from './roles.ts'
import { sampledQuery, statType } from './sampled.ts'
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
    iam: 'View_Traffic_Mirror_Stats',
    roles: mirrorReaders,
    rateLimit: perSecond(2, 2, 4),
    query: sampledQuery,
    select: names('extId, links, statType, tenantId, transmitByteCount, transmitPacketCount'),
  }),
}
