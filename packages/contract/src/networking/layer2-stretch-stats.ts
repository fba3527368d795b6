/** Traffic between the sites. Source: catalogue networking.json; behaviour networking.md 1.12, 3.3. */
import { baseFields, perSecond, read } from '../operation.ts'
import * as s from '../schema.ts'
import { Layer2Stretch } from './layer2-stretch.ts'
import { gatewayReaders } from './roles.ts'
import { sampledQuery, samples, statType } from './sampled.ts'

export const Layer2StretchStats = s.object('networking.v4.stats.Layer2StretchStats', {
  ...baseFields,
  statType: s.optional(statType),
  /** Round trip time in milliseconds. */
  rtt: samples(),
  throughputRxKbps: samples(),
  throughputTxKbps: samples(),
})

export const layer2StretchStatsOperations = {
  getLayer2StretchStats: read('/stats/layer2-stretches/{extId}', Layer2StretchStats, {
    of: Layer2Stretch,
    iam: 'View_Layer2_Stretch_Stats',
    roles: gatewayReaders,
    rateLimit: perSecond(2, 2, 4),
    query: sampledQuery,
    // Pages slice the samples.
    paged: true,
    select: ['extId', 'links', 'rtt', 'statType', 'tenantId', 'throughputRxKbps', 'throughputTxKbps'],
  }),
}
