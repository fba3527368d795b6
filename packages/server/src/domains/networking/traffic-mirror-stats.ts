/** Source: behaviour networking.md 1.16, 3.3. */
import { trafficMirrorStatsOperations } from '@hyperplane/contract/networking/traffic-mirror-stats'
import { parseTime } from '../../core/time/clock.ts'
import { implement } from '../context.ts'
import { sampledAnswer, samplingOf, seriesOf, timesOf } from '../statistics/samples.ts'

const counters = ['transmitByteCount', 'transmitPacketCount'] as const

export const trafficMirrorStats = implement(trafficMirrorStatsOperations, {
  async getTrafficMirrorStats(ctx, request) {
    const { extId, createdAt } = ctx.target
    const since = parseTime(createdAt ?? '') ?? 0
    const sampling = samplingOf(ctx, request, since / 1000)
    const readings = await ctx.drivers.networkFabric.mirrored(extId, since, timesOf(sampling))
    const series = seriesOf(sampling, readings, counters, new Set(counters))
    return sampledAnswer(request, { extId, statType: sampling.type, ...series })
  },
})
