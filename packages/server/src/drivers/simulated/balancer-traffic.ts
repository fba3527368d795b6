/** Part of the traffic of a target's VM came through the balancer. Source: behaviour networking.md 1.14, 3.3. */
import { parseHost } from '../../core/ip-address.ts'
import {
  type MeasuredVm,
  readingSeconds,
  type TargetTraffic,
  type Telemetry,
  type TrafficReading,
  type VmReading,
} from '../telemetry.ts'
import { healthyPeriods, type Period } from './balancer-health.ts'
import { type BalancerFact, balancerFacts } from './balancers.ts'
import type { Flows } from './flows/flows.ts'
import { keyOf, noise } from './noise.ts'
import type { SimulatedWorld } from './world.ts'

interface Request {
  readonly sessionExtId: string
  readonly measured: Parameters<Telemetry['readBalancer']>[1]
  readonly times: readonly number[]
}

/** Share of the bytes of a NIC; the rest did not come through a balancer. */
const balancedShare = 0.8
const bytesPerPacket = [500, 1200] as const
const packetsPerRequest = [8, 40] as const
const draws = { packet: 1, request: 2 }

export async function readBalancer(
  flows: Pick<Flows, 'connectedShares' | 'world'>,
  read: Telemetry['read'],
  { sessionExtId, measured, times }: Request,
): Promise<readonly TargetTraffic[]> {
  const { world } = flows
  const { targets = [], check } = balancerFacts(world).health.get(sessionExtId) ?? {}
  const vms = new Map<string, MeasuredVm>()
  for (const vm of await measured([...new Set(targets.map(({ vmExtId }) => vmExtId))])) vms.set(vm.extId, vm)
  const healthyTargets = healthyOfNics(world)
  const passing = await passingShares(flows, balancerFacts(world).balancers.get(sessionExtId), times)
  const found: TargetTraffic[] = []
  for (const target of targets) {
    // Long spans have thousands of readings for each target, so the event loop gets a turn.
    await new Promise(setImmediate)
    const vm = vms.get(target.vmExtId)
    if (vm === undefined) continue
    const periods = healthyPeriods(target, check, world.clock.now())
    const key = keyOf(`${world.seed}/balancer/${sessionExtId}/${target.nicExtId}/${target.port}`)
    const shares = times.map(
      (time, index) =>
        (healthyShare(periods, time) * passing[index]!) / rivals(healthyTargets.get(target.nicExtId), time),
    )
    const readings = periods.length === 0 ? [] : await read({ ...vm, disks: [] }, times)
    const traffic = times.map((time, index) => trafficOf(vm, readings[index], shares[index]!, { key, time }))
    const before = found.find((each) => each.nicExtId === target.nicExtId)
    if (before === undefined) found.push({ nicExtId: target.nicExtId, readings: traffic })
    else
      found[found.indexOf(before)] = { ...before, readings: before.readings.map((one, at) => sum(one, traffic[at]!)) }
  }
  return found
}

/** Share of the VPC's NICs that reach the virtual IP at each time, over its ports: policies decide as in a trace. */
async function passingShares(
  flows: Pick<Flows, 'connectedShares'>,
  balancer: BalancerFact | undefined,
  times: readonly number[],
): Promise<readonly number[]> {
  const address = parseHost(balancer?.address ?? '')
  if (balancer === undefined || address === undefined) return times.map(() => 1)
  const { portRanges, vpcExtId } = balancer
  const protocol = balancer.protocol === 'UDP' ? 'UDP' : 'TCP'
  const ofRanges = await Promise.all(
    portRanges.map(({ startPort: port }) =>
      flows.connectedShares(vpcExtId, times, { address, port, isExternal: false }, protocol),
    ),
  )
  return times.map((_, index) => ofRanges.reduce((total, shares) => total + shares[index]!, 0) / ofRanges.length)
}

/** By NIC: the periods of its targets in all balancers, because they share its traffic. */
function healthyOfNics(world: SimulatedWorld): ReadonlyMap<string, readonly (readonly Period[])[]> {
  const found = new Map<string, (readonly Period[])[]>()
  for (const { targets, check } of balancerFacts(world).health.all().values())
    for (const target of targets) {
      const periods = healthyPeriods(target, check, world.clock.now())
      found.set(target.nicExtId, [...(found.get(target.nicExtId) ?? []), periods])
    }
  return found
}

const rivals = (onNic: readonly (readonly Period[])[] = [], time: number): number =>
  Math.max(1, onNic.filter((periods) => healthyShare(periods, time) > 0).length)

/** Healthy share of the reading that ends at `time`. */
function healthyShare(periods: readonly Period[], time: number): number {
  const millis = 1000 * readingSeconds
  let healthy = 0
  for (const { from, to = time } of periods) healthy += Math.max(0, Math.min(to, time) - Math.max(from, time - millis))
  return healthy / millis
}

function trafficOf(
  { connectedNics }: MeasuredVm,
  reading: VmReading | undefined,
  share: number,
  { key, time }: { readonly key: number; readonly time: number },
): TrafficReading {
  // A target that no packet reaches, because policies deny all of them, answers none.
  const isReached = reading !== undefined && reading.receivedBytes > 0
  if (!isReached || share === 0 || connectedNics === 0) return { bytes: 0, packets: 0, requests: 0 }
  const within = ([least, most]: readonly [number, number], draw: number): number =>
    least + (most - least) * noise(key, draw, time / 1000)
  const ofNic = (reading.receivedBytes + reading.transmittedBytes) / connectedNics
  const bytes = Math.floor(ofNic * balancedShare * share)
  const packets = Math.ceil(bytes / within(bytesPerPacket, draws.packet))
  return { bytes, packets, requests: Math.ceil(packets / within(packetsPerRequest, draws.request)) }
}

const sum = (a: TrafficReading, b: TrafficReading): TrafficReading => ({
  bytes: a.bytes + b.bytes,
  packets: a.packets + b.packets,
  requests: a.requests + b.requests,
})
