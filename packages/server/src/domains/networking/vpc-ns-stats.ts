/** Source: behaviour networking.md 1.5, 3.3. */
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { vpcNsStatsOperations } from '@hyperplane/contract/networking/vpc-ns-stats'
import { notFound } from '../../core/standard.ts'
import { implement } from '../context.ts'
import { inText, sampledAnswer, samplingOf, seriesOf, timesOf } from '../statistics/samples.ts'

const counters = [
  'northSouthEgressBytesAbs',
  'northSouthEgressPacketsAbs',
  'northSouthIngressBytesAbs',
  'northSouthIngressPacketsAbs',
] as const
const names = [
  ...counters,
  'northSouthEgressBytesPerSec',
  'northSouthEgressPacketsPerSec',
  'northSouthIngressBytesPerSec',
  'northSouthIngressPacketsPerSec',
] as const

export const vpcNsStats = implement(vpcNsStatsOperations, {
  async getVpcNsStats(ctx, request) {
    const { extId } = request.path
    const { extId: vpcExtId, externalSubnets = [] } = ctx.target
    const isAttached = externalSubnets.some(({ subnetReference }) => subnetReference === extId)
    if (!isAttached) throw notFound(Subnet, extId, 'extId')
    const { networkFabric } = ctx.drivers
    const since = (await networkFabric.attachedSince(vpcExtId, extId)) ?? ctx.clock.now()
    const sampling = samplingOf(ctx, request, since / 1000)
    const readings = await networkFabric.northSouth(vpcExtId, extId, timesOf(sampling))
    const series = seriesOf(sampling, readings, names, new Set(counters))
    return sampledAnswer(request, { extId, statType: sampling.type, ...inText(series) })
  },
})
