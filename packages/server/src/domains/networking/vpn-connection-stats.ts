/** Source: behaviour networking.md 1.11, 3.3. */
import { vpnConnectionStatsOperations } from '@hyperplane/contract/networking/vpn-connection-stats'
import { parseTime } from '../../core/time/clock.ts'
import { implement } from '../context.ts'
import { inText, sampledAnswer, samplingOf, seriesOf, timesOf } from '../statistics/samples.ts'

export const vpnConnectionStats = implement(vpnConnectionStatsOperations, {
  async getVpnConnectionStats(ctx, request) {
    const { extId, createdAt } = ctx.target
    const sampling = samplingOf(ctx, request, (parseTime(createdAt ?? '') ?? 0) / 1000)
    const readings = await ctx.drivers.networkFabric.throughput(extId, timesOf(sampling))
    const { receivedKbps: throughputRxKbps, transmittedKbps: throughputTxKbps } = inText(
      seriesOf(sampling, readings, ['receivedKbps', 'transmittedKbps']),
    )
    return sampledAnswer(request, { extId, statType: sampling.type, throughputRxKbps, throughputTxKbps })
  },
})
