/** VTEP gateways or a VPN connection carry the frames of a stretch. Source: behaviour networking.md 1.9, 1.12. */
import type { StretchProgram } from '../stretching.ts'
import { gatewayFacts, serviceOf, upFromOf } from './gateways.ts'
import type { Carrier } from './stretch-path.ts'
import { conditionOf, expectedSpan, tunnelFacts } from './vpn-state.ts'
import type { SimulatedWorld } from './world.ts'

/** In order of preference. */
export function carriersOf(world: SimulatedWorld, program: StretchProgram): readonly Carrier[] {
  const { tunnel } = program
  if (tunnel.type === 'VXLAN')
    return gatewaysOf(world, program).flatMap((extId) => {
      const upFrom = upFromOf(world, extId)
      return upFrom === undefined ? [] : [{ extId, upFrom }]
    })
  const connection = tunnelFacts(world).tunnels.get(tunnel.connectionExtId)
  const span = connection && expectedSpan(world, connection)
  if (span === undefined) return []
  const { from: upFrom, to: until } = span
  return [{ extId: tunnel.connectionExtId, upFrom, ...(Number.isFinite(until) && { until }) }]
}

/** Why the configured gateway, or the connection, is down. */
export function downReasonOf(world: SimulatedWorld, { tunnel }: StretchProgram): string | undefined {
  if (tunnel.type === 'VXLAN') return serviceOf(world, tunnel.gatewayExtId).reason
  const connection = tunnelFacts(world).tunnels.get(tunnel.connectionExtId)
  return connection === undefined ? 'the VPN connection has no tunnel' : conditionOf(world, connection).reason
}

/** The gateways that can carry it, the configured one first; none for a VPN connection. */
export function gatewaysOf(world: SimulatedWorld, { tunnel }: StretchProgram): readonly string[] {
  if (tunnel.type === 'VPN') return []
  const { gatewayExtId, isHighlyAvailable } = tunnel
  const { gateways } = gatewayFacts(world)
  const own = gateways.get(gatewayExtId)?.service
  if (!isHighlyAvailable || own?.type !== 'VTEP' || own.isHighlyAvailable !== true) return [gatewayExtId]
  const others = [...gateways.all()].filter(
    ([extId, { service }]) =>
      extId !== gatewayExtId &&
      service.type === 'VTEP' &&
      service.isHighlyAvailable === true &&
      service.network === own.network,
  )
  return [gatewayExtId, ...others.map(([extId]) => extId).sort()]
}
