/** Source: behaviour networking.md 1.14, 3.3. */
import { loadBalancerSessionStatsOperations } from '@hyperplane/contract/networking/load-balancer-session-stats'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { textOf } from '../../core/ip-address.ts'
import { parseTime } from '../../core/time/clock.ts'
import type { TargetTraffic, TrafficReading } from '../../drivers/telemetry.ts'
import { applySelection } from '../../odata/index.ts'
import { implement } from '../context.ts'
import { maximumPoints } from '../statistics/grid.ts'
import { nativeSubjects } from '../statistics/native.ts'
import { combined, type Sampling, samplingOf } from '../statistics/samples.ts'

const fields = { numBytes: 'bytes', numPackets: 'packets', numRequests: 'requests' } as const
type Series = { readonly [N in keyof typeof fields]: readonly number[] }

/** Samples of all targets in one answer. */
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
    const times = sampling.samples.flatMap((sample) => sample.times.map((time) => time * 1000))
    const measured = async (vmExtIds: readonly string[]) =>
      (await nativeSubjects(ctx, await ctx.store.getMany(Vm, vmExtIds))).map(({ vm }) => vm)
    const traffic = await ctx.drivers.telemetry.readBalancer(extId, measured, times)
    const series = traffic.map((target) => seriesOf(target, sampling))
    const total = sumOf(series, sampling.samples.length)
    const stats = {
      extId,
      statType: sampling.type,
      listenerStats: [{ virtualIpAddress: textOf(listener.virtualIP.ipAddress), ...inText(total) }],
      targetStats: traffic.map(({ nicExtId }, index) => ({ virtualNicReference: nicExtId, ...inText(series[index]!) })),
    }
    const { select } = request.query
    return select === undefined ? stats : { ...applySelection(select, stats), extId, statType: sampling.type }
  },
})

function seriesOf({ readings }: TargetTraffic, { type, samples }: Sampling): Series {
  const result = { numBytes: [] as number[], numPackets: [] as number[], numRequests: [] as number[] }
  let next = 0
  for (const { times, weight } of samples) {
    const own = readings.slice(next, next + times.length)
    next += times.length
    for (const [name, field] of entries)
      result[name].push(
        combined(
          type,
          own.map((reading: TrafficReading) => reading[field]),
          weight,
        ),
      )
  }
  return result
}

const entries = Object.entries(fields) as [keyof typeof fields, keyof TrafficReading][]

/** The listener's traffic is that of its targets, in every sample and for every way to combine readings. */
const sumOf = (series: readonly Series[], length: number): Series => {
  const sums = (name: keyof Series): number[] =>
    Array.from({ length }, (_, index) => series.reduce((sum, each) => sum + each[name][index]!, 0))
  return { numBytes: sums('numBytes'), numPackets: sums('numPackets'), numRequests: sums('numRequests') }
}

const inText = ({ numBytes, numPackets, numRequests }: Series) => ({
  numBytes: numBytes.map(String),
  numPackets: numPackets.map(String),
  numRequests: numRequests.map(String),
})
