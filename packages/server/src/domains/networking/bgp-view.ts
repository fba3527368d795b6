/** Computed at each read from what the fabric has, so that session, routes and VPC cannot disagree. Source: 1.10. */
import type { EntityOf } from '@hyperplane/contract'
import type { BgpRoute } from '@hyperplane/contract/networking/bgp-route'
import type { BgpSession } from '@hyperplane/contract/networking/bgp-session'
import { routeId } from '../../core/ids/named-id.ts'
import { formatAddress, parseHost, parsePrefix, writeAddress } from '../../core/ip-address.ts'
import type { ExchangedRoute } from '../../drivers/network-fabric.ts'
import type { ReadContext } from '../context.ts'
import { writeSubnet } from './ip-subnet.ts'

export type SessionEntity = EntityOf<typeof BgpSession>
export type RouteEntity = EntityOf<typeof BgpRoute>

export interface SessionView {
  readonly status: NonNullable<SessionEntity['status']>
  readonly routes: readonly RouteEntity[]
}

/** An ignored route has the reason as its description. */
export async function viewOf(ctx: Pick<ReadContext, 'drivers'>, { extId }: SessionEntity): Promise<SessionView> {
  const peer = await ctx.drivers.networkFabric.bgpPeer(extId)
  if (peer?.state !== 'Established') {
    const message = peer?.reason === undefined ? (peer?.state ?? 'Idle') : `${peer.state}: ${peer.reason}`
    return { status: { state: 'DOWN', message }, routes: [] }
  }
  const received = peer.received.map(({ ignored, ...route }) =>
    ignored === undefined
      ? routeOf(extId, 'RECEIVED', route)
      : { ...routeOf(extId, 'RECEIVED_AND_IGNORED', route), description: ignored },
  )
  const accepted = peer.received.filter(({ ignored }) => ignored === undefined).length
  return {
    status: { state: 'UP', message: `Established, ${accepted} prefixes received` },
    routes: [...received, ...peer.advertised.map((route) => routeOf(extId, 'ADVERTISED', route))],
  }
}

function routeOf(
  sessionExtId: string,
  bgpRouteType: RouteEntity['bgpRouteType'],
  { prefix, nexthop, communities }: ExchangedRoute,
): RouteEntity {
  const [destination, address] = [parsePrefix(prefix), parseHost(nexthop)]
  return {
    extId: routeId(`bgp-route/${sessionExtId}/${bgpRouteType}/${prefix}/${nexthop}`),
    name: prefix,
    bgpSessionReference: sessionExtId,
    bgpRouteType,
    ...(destination !== undefined && { destination: writeSubnet(destination) }),
    nexthop: {
      nexthopType: 'IP_ADDRESS',
      ...(address !== undefined && { nexthopIpAddress: writeAddress(address), nexthopName: formatAddress(address) }),
    },
    ...(communities.length > 0 && { bgpCommunities: [...communities] }),
  }
}
