/** Route tables, computed at each call from the facts of the fabric. Source: behaviour networking.md 1.6, 1.10. */
import { isDeepStrictEqual } from 'node:util'
import { formatPrefix, parseHost, parsePrefix } from '../../core/ip-address.ts'
import { type Candidate, routesBy, selected } from '../route-selection.ts'
import type { RouteNexthop, RouteProgram, TableRoute } from '../virtual-routing.ts'
import { bgpFacts, receivedBy } from './bgp-peers.ts'
import { routeFacts, routerFacts } from './router-facts.ts'
import { type Surroundings, surroundingsOf } from './router-surroundings.ts'
import { learnedBy, tunnelsOf } from './vpn-routes.ts'
import { conditionOf, type TunnelFact } from './vpn-state.ts'
import type { SimulatedWorld } from './world.ts'

const priorities = { LOCAL: 65534, STATIC: 32768 } as const

type Works = ReturnType<typeof reachOf>
type TableCandidate = Candidate & Omit<TableRoute, 'prefix' | 'isActive'>

export function createRouteTables(world: SimulatedWorld) {
  const routes = routeFacts(world)
  return {
    has: (routeExtId: string): boolean => routes.get(routeExtId) !== undefined,
    async install(route: RouteProgram): Promise<void> {
      const { since = world.clock.now(), ...present } = routes.get(route.extId) ?? {}
      if (!isDeepStrictEqual(present, route)) await routes.put(route.extId, { ...route, since })
    },
    remove: (routeExtId: string): Promise<void> => routes.remove(routeExtId),
    async removeThoseOf(vpcExtId: string): Promise<void> {
      for (const { extId } of [...routes.all().values()].filter((each) => each.vpcExtId === vpcExtId))
        await routes.remove(extId)
    },
  }
}

export function routesOfRouter(world: SimulatedWorld, vpcExtId: string): readonly TableRoute[] {
  if (routerFacts(world).get(vpcExtId) === undefined) return []
  const surroundings = surroundingsOf(world, vpcExtId)
  const tunnels = tunnelsOf(world, vpcExtId)
  const works = reachOf(
    surroundings,
    tunnels.filter((tunnel) => conditionOf(world, tunnel).reason === undefined),
  )
  const candidates = [
    ...localRoutes(surroundings),
    ...staticRoutes(world, vpcExtId, works),
    ...dynamicRoutes(world, vpcExtId, works),
    ...tunnels.flatMap((tunnel) => tunnelRoutes(world, tunnel)),
  ]
  const forwarding = selected(candidates)
  return candidates.map((candidate) => {
    const { type, sourceExtId, prefix, nexthop, priority } = candidate
    return { type, sourceExtId, prefix: formatPrefix(prefix), nexthop, priority, isActive: forwarding.has(candidate) }
  })
}

const localRoutes = ({ prefixes }: Surroundings): readonly TableCandidate[] =>
  prefixes.map(({ subnetExtId, prefix }) => ({
    ...{ type: 'LOCAL', sourceExtId: subnetExtId, prefix, nexthop: { subnetExtId } },
    ...{ priority: priorities.LOCAL, since: 0, isUsable: true },
  }))

function staticRoutes(world: SimulatedWorld, vpcExtId: string, works: Works): readonly TableCandidate[] {
  return [...routeFacts(world).all().values()].flatMap((route) => {
    const prefix = route.vpcExtId === vpcExtId ? parsePrefix(route.prefix) : undefined
    if (prefix === undefined) return []
    const { extId, nexthop, since } = route
    const isUsable = works(nexthop)
    return [{ type: 'STATIC', sourceExtId: extId, prefix, nexthop, priority: priorities.STATIC, since, isUsable }]
  })
}

/** Received routes of the sessions that are established. */
function dynamicRoutes(world: SimulatedWorld, vpcExtId: string, works: Works): readonly TableCandidate[] {
  const peers = [...bgpFacts(world).bgpPeers.all().values()].filter((peer) => peer.vpcExtId === vpcExtId)
  return peers.flatMap((peer) => {
    const { sessionExtId, priority, since, isMultipath } = peer
    return receivedBy(world, peer).flatMap(({ prefix: text, nexthop: address, ignored }) => {
      const prefix = parsePrefix(text)
      if (ignored !== undefined || prefix === undefined) return []
      const nexthop = { address }
      const isUsable = works(nexthop)
      return [{ type: 'DYNAMIC', sourceExtId: sessionExtId, prefix, nexthop, priority, since, isUsable, isMultipath }]
    })
  })
}

function tunnelRoutes(world: SimulatedWorld, tunnel: TunnelFact): readonly TableCandidate[] {
  const { connectionExtId, since } = tunnel
  const priority = tunnel.routing?.priority ?? 0
  const nexthop = { connectionExtId }
  return learnedBy(world, tunnel).map((prefix) => ({
    ...{ type: 'DYNAMIC', sourceExtId: connectionExtId, prefix, nexthop },
    ...{ priority, since, isUsable: true },
  }))
}

/** Tells whether packets can leave the router towards a nexthop. */
function reachOf(
  { prefixes, ports }: Surroundings,
  tunnelsUp: readonly TunnelFact[],
): (nexthop: RouteNexthop) => boolean {
  const connected = [
    ...prefixes.map((each) => ({ ...each, isLive: true })),
    ...ports.flatMap((port) => port.prefixes.map((prefix) => ({ ...port, prefix }))),
  ]
  const live = new Set(connected.flatMap(({ subnetExtId, isLive }) => (isLive ? subnetExtId : [])))
  const routes = routesBy(connected)
  const tunnels = new Set(tunnelsUp.map(({ connectionExtId }) => connectionExtId))
  return ({ subnetExtId, address = '', connectionExtId }) => {
    if (connectionExtId !== undefined) return tunnels.has(connectionExtId)
    if (subnetExtId !== undefined) return live.has(subnetExtId)
    const host = parseHost(address)
    return host !== undefined && routes(host).some(({ isLive }) => isLive)
  }
}
