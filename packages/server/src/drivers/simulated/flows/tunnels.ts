/** Traffic through VPN connections. Source: behaviour networking.md 1.11, 3.3. */
import { formatPrefix } from '../../../core/ip-address.ts'
import { createPause } from '../../../store/pause.ts'
import type { ThroughputReading } from '../../flow-statistics.ts'
import { routeFacts } from '../router-facts.ts'
import { acceptedBy } from '../vpn-routes.ts'
import { bgpSpan, tunnelFacts, upSpan } from '../vpn-state.ts'
import type { SimulatedWorld } from '../world.ts'
import type { Flows } from './flows.ts'
import { flowHistory, type Observation, type ObservedTunnel, periodAt } from './history.ts'

/** Tunnels with routes through them: the others carry nothing. */
export function observedTunnels(
  world: SimulatedWorld,
  since: number,
): ReadonlyMap<string, Observation<ObservedTunnel>> {
  const observed = new Map<string, Observation<ObservedTunnel>>()
  const routes = Map.groupBy(routeFacts(world).all().values(), ({ nexthop }) => nexthop.connectionExtId)
  for (const [connectionExtId, tunnel] of tunnelFacts(world).tunnels.all()) {
    const [up, learning] = [upSpan(world, tunnel), bgpSpan(world, tunnel)]
    if (tunnel.vpcExtId === undefined || 'reason' in up) continue
    const fixed = routes.get(connectionExtId) ?? []
    const learned = learning === undefined ? [] : acceptedBy(world, tunnel).map(formatPrefix)
    const prefixes = [...fixed.map(({ prefix }) => prefix), ...learned]
    if (prefixes.length === 0) continue
    const { egressLimitMbps, ingressLimitMbps } = tunnel.security ?? {}
    const { from, to } = fixed.length > 0 ? up : learning!
    const value: ObservedTunnel = {
      ...{ vpcExtId: tunnel.vpcExtId, connectionExtId, prefixes, upFrom: from },
      ...(Number.isFinite(to) && { upTo: to }),
      ...(egressLimitMbps !== undefined && { egressLimitMbps }),
      ...(ingressLimitMbps !== undefined && { ingressLimitMbps }),
    }
    observed.set(connectionExtId, { value, since })
  }
  return observed
}

export async function throughputOf(
  flows: Flows,
  connectionExtId: string,
  times: readonly number[],
): Promise<readonly ThroughputReading[]> {
  const history = flowHistory(flows.world).tunnels.get(connectionExtId)
  const readings: ThroughputReading[] = []
  const pause = createPause()
  for (const time of times) {
    const tunnel = periodAt(history, time)?.value
    if (tunnel !== undefined) await flows.prepare(tunnel.vpcExtId, time)
    readings.push(throughputAt(flows, connectionExtId, tunnel, time))
    await pause()
  }
  return readings
}

function throughputAt(
  flows: Flows,
  connectionExtId: string,
  tunnel: ObservedTunnel | undefined,
  time: number,
): ThroughputReading {
  if (tunnel === undefined) return { receivedKbps: 0, transmittedKbps: 0 }
  let [received, transmitted] = [0, 0]
  flows
    .tableAt(tunnel.vpcExtId, time)
    ?.visitCrossing(time / 1000, ({ connectionExtId: through, decision, kind }, rate) => {
      if (through !== connectionExtId || !decision.arrives) return
      if (kind === 'egress') transmitted += rate
      else received += rate
    })
  return {
    receivedKbps: limited(received, tunnel.ingressLimitMbps),
    transmittedKbps: limited(transmitted, tunnel.egressLimitMbps),
  }
}

/** The gateway drops what exceeds the limit. */
const limited = (bytesPerSecond: number, limitMbps = Number.POSITIVE_INFINITY): number =>
  Math.min(Math.floor((8 * bytesPerSecond) / 1000), 1000 * limitMbps)
