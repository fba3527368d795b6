/** Source: behaviour networking.md 1.14, 3.3. */
import { loadBalancerSessionStatsOperations } from '@hyperplane/contract/networking/load-balancer-session-stats'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { textOf } from '../../core/ip-address.ts'
import { parseTime } from '../../core/time/clock.ts'
import { implement } from '../context.ts'
import { maximumPoints } from '../statistics/grid.ts'
import { nativeSubjects } from '../statistics/native.ts'
import { inText, sampledAnswer, samplingOf, seriesOf, timesOf } from '../statistics/samples.ts'

const fields = ['bytes', 'packets', 'requests'] as const
type Field = (typeof fields)[number]
type Series = Readonly<Record<Field, readonly number[]>>

const maximumValues = 60_000
/** Leaves the interval wide enough for all targets. */
const samplesFor = (targets: number): number =>
  Math.max(2, Math.min(maximumPoints, Math.floor(maximumValues / Math.max(1, targets))))

export const loadBalancerSessionStats = implement(loadBalancerSessionStatsOperations, {
  async getLoadBalancerSessionStats(ctx, request) {
    const { extId, listener, createdAt } = ctx.target
    const { targets = [] } = (await ctx.drivers.networkFabric.balancer(extId)) ?? {}
    const since = (parseTime(createdAt ?? '') ?? 0) / 1000
    const sampling = samplingOf(ctx, request, since, samplesFor(targets.length))
    const measured = async (vmExtIds: readonly string[]) =>
      (await nativeSubjects(ctx, await ctx.store.getMany(Vm, vmExtIds))).map(({ vm }) => vm)
    const traffic = await ctx.drivers.telemetry.readBalancer(extId, measured, timesOf(sampling))
    const series = traffic.map(({ readings }) => seriesOf(sampling, readings, fields))
    const total = sumOf(series, sampling.samples.length)
    return sampledAnswer(request, {
      extId,
      statType: sampling.type,
      listenerStats: [{ virtualIpAddress: textOf(listener.virtualIP.ipAddress), ...shown(total) }],
      targetStats: traffic.map(({ nicExtId }, index) => ({ virtualNicReference: nicExtId, ...shown(series[index]!) })),
    })
  },
})

/** In every sample and for every way to combine readings, the listener's traffic is that of its targets. */
const sumOf = (series: readonly Series[], length: number): Series => {
  const sums = (name: Field): number[] =>
    Array.from({ length }, (_, index) => series.reduce((sum, each) => sum + each[name][index]!, 0))
  return { bytes: sums('bytes'), packets: sums('packets'), requests: sums('requests') }
}

const shown = (series: Series) => {
  const { bytes, packets, requests } = inText(series)
  return { numBytes: bytes, numPackets: packets, numRequests: requests }
}
