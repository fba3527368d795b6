/** Traffic between the sites. Source: catalogue networking.json; behaviour networking.md 1.12, 3.3. */
import { baseFields, read } from '../operation.ts'
import * as s from '../schema.ts'
import { Layer2Stretch } from './layer2-stretch.ts'
import { gatewayReaders } from './roles.ts'
import { sampledRead, samples, statType } from './sampled.ts'

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
    roles: gatewayReaders,
    ...sampledRead(Layer2StretchStats),
    // Pages slice the samples.
    paged: true,
  }),
}
