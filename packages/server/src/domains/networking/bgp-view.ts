/** Computed at each read, so that session, routes and VPC cannot disagree. Source: behaviour networking.md 1.10. */
import type { EntityOf } from '@hyperplane/contract'
import type { BgpRoute } from '@hyperplane/contract/networking/bgp-route'
import type { BgpSession } from '@hyperplane/contract/networking/bgp-session'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { routeId } from '../../core/ids/named-id.ts'
import {
  bitsOf,
  type Family,
  formatAddress,
  formatPrefix,
  holds,
  overlap,
  type Prefix,
  parseAddress,
  prefixOf,
  writeAddress,
} from '../../core/ip-address.ts'
import type { OfferedRoute } from '../../drivers/network-fabric.ts'
import type { Reader } from '../../store/store.ts'
import { families, planOf } from '../addressing/address-plan.ts'
import type { ReadContext } from '../context.ts'
import { prefixOfSubnet, writeSubnet } from './ip-subnet.ts'

export type SessionEntity = EntityOf<typeof BgpSession>
export type RouteEntity = EntityOf<typeof BgpRoute>
type VpcEntity = EntityOf<typeof Vpc>

export interface SessionView {
  readonly status: NonNullable<SessionEntity['status']>
  readonly routes: readonly RouteEntity[]
}

/** Per session; later prefixes are ignored. */
const maximumPrefixes = 250

export interface Judging {
  readonly localAsn: number
  readonly own: readonly Prefix[]
  /** Prefixes of the external subnet of the peer, which has no NAT. */
  readonly external: readonly Prefix[]
}

export async function viewOf(
  ctx: Pick<ReadContext, 'store' | 'drivers'>,
  session: SessionEntity,
): Promise<SessionView> {
  const peer = await ctx.drivers.networkFabric.bgpPeer(session.extId)
  if (peer?.state !== 'Established') {
    const message = peer?.reason === undefined ? (peer?.state ?? 'Idle') : `${peer.state}: ${peer.reason}`
    return { status: { state: 'DOWN', message }, routes: [] }
  }
  const routing = await vpcRoutingOf(ctx.store, session)
  const received = judged(session.extId, peer.routes, routing.judging)
  const accepted = received.filter((route) => route.bgpRouteType === 'RECEIVED').length
  return {
    status: { state: 'UP', message: `Established, ${accepted} prefixes received` },
    routes: [...received, ...advertised(session, routing)],
  }
}

/** All offered routes; an ignored route has the reason as its description. */
export function judged(sessionExtId: string, offered: readonly OfferedRoute[], judging: Judging): RouteEntity[] {
  let accepted = 0
  return offered.map((route) => {
    const reason =
      reasonToIgnore(route, judging) ??
      (accepted >= maximumPrefixes ? `beyond ${maximumPrefixes} prefixes of this session` : undefined)
    if (reason === undefined) accepted++
    const type = reason === undefined ? 'RECEIVED' : 'RECEIVED_AND_IGNORED'
    return { ...routeOf(sessionExtId, type, route), ...(reason === undefined ? {} : { description: reason }) }
  })
}

function reasonToIgnore(route: OfferedRoute, { localAsn, own, external }: Judging): string | undefined {
  const prefix = parsePrefix(route.prefix)
  if (prefix.length === bitsOf(prefix.family)) return 'a host route'
  if (route.autonomousSystemPath.includes(localAsn)) return `the AS path holds the local AS number ${localAsn}`
  const nexthop = parseAddress(prefix.family, route.nexthop)
  const isReachable = external.some(
    (net) => nexthop !== undefined && net.family === prefix.family && holds(net, nexthop.value),
  )
  if (!isReachable) return `the nexthop ${route.nexthop} is not on the external subnet`
  // A default route overlaps every prefix, but more specific routes take precedence: it is accepted.
  const clash = own.find((net) => net.family === prefix.family && prefix.length > 0 && overlap(net, prefix))
  return clash === undefined ? undefined : `overlaps ${formatPrefix(clash)} of the VPC`
}

interface VpcRouting {
  readonly judging: Judging
  readonly vpc?: VpcEntity
  readonly routerPort?: string
}

async function vpcRoutingOf(store: Reader, session: SessionEntity): Promise<VpcRouting> {
  const local = await store.get(Gateway, session.localGatewayReference)
  const services = local?.services
  const speaker = services !== undefined && 'localBgpService' in services ? services.localBgpService : undefined
  const vpcExtId = local?.vpcReference ?? speaker?.vpcReference
  const vpc = vpcExtId === undefined ? undefined : await store.get(Vpc, vpcExtId)
  const localAsn = speaker?.asn ?? 0
  if (vpc === undefined) return { judging: { localAsn, own: [], external: [] } }
  const subnets = await store.findWhere(Subnet, { vpcReference: vpc.extId })
  const prefixesOf = (subnet: (typeof subnets)[number]): Prefix[] =>
    families.flatMap((family) => planOf(subnet.ipConfig)[family]?.prefix ?? [])
  const own = [...subnets.flatMap(prefixesOf), ...(vpc.externallyRoutablePrefixes ?? []).map(prefixOfSubnet)]
  for (const attachment of vpc.externalSubnets ?? []) {
    const subnet = await store.get(Subnet, attachment.subnetReference)
    if (subnet === undefined || subnet.isNatEnabled === true) continue
    const routerPort = attachment.externalIps?.[0]?.ipv4?.value
    return {
      judging: { localAsn, own, external: prefixesOf(subnet) },
      vpc,
      ...(routerPort === undefined ? {} : { routerPort }),
    }
  }
  return { judging: { localAsn, own, external: [] }, vpc }
}

function advertised(session: SessionEntity, { vpc, routerPort }: VpcRouting): RouteEntity[] {
  if (vpc === undefined || routerPort === undefined) return []
  const listed = session.externallyRoutablePrefixesToAdvertise ?? []
  const all = session.shouldAdvertiseAllExternallyRoutablePrefixes ?? listed.length === 0
  const prefixes = all ? (vpc.externallyRoutablePrefixes ?? []) : listed
  const communities = session.advertisedRoutesCommunities ?? []
  return prefixes.map((given) =>
    routeOf(session.extId, 'ADVERTISED', {
      prefix: formatPrefix(prefixOfSubnet(given)),
      nexthop: routerPort,
      communities,
    }),
  )
}

function routeOf(
  sessionExtId: string,
  bgpRouteType: RouteEntity['bgpRouteType'],
  { prefix: text, nexthop, communities }: Pick<OfferedRoute, 'prefix' | 'nexthop' | 'communities'>,
): RouteEntity {
  const prefix = parsePrefix(text)
  const address = parseAddress(prefix.family, nexthop)
  return {
    extId: routeId(`bgp-route/${sessionExtId}/${bgpRouteType}/${text}/${nexthop}`),
    name: text,
    bgpSessionReference: sessionExtId,
    bgpRouteType,
    destination: writeSubnet(prefix),
    nexthop: {
      nexthopType: 'IP_ADDRESS',
      ...(address === undefined
        ? {}
        : { nexthopIpAddress: writeAddress(address), nexthopName: formatAddress(address) }),
    },
    ...(communities.length === 0 ? {} : { bgpCommunities: [...communities] }),
  }
}

function parsePrefix(text: string): Prefix {
  const [address = '', length] = text.split('/')
  const family: Family = address.includes(':') ? 'IPV6' : 'IPV4'
  return prefixOf(parseAddress(family, address) ?? { family, value: 0n }, Number(length))
}
