/** Prefixes that eBGP exchanges inside simulated tunnels. Source: behaviour networking.md 1.11. */
import { drawsFrom } from '../../core/ids/draws.ts'
import { formatPrefix, type Prefix, parseHost, parsePrefix } from '../../core/ip-address.ts'
import { maximumPrefixes, type Offer, reasonsToIgnore } from '../bgp-filter.ts'
import { bgpFacts, receivedBy } from './bgp-peers.ts'
import { interiorRoutes, offerOf } from './bgp-router.ts'
import { prefixesOf, surroundingsOf } from './router-surroundings.ts'
import { bgpConditionOf, type SpeakerFact, type TunnelFact, tunnelFacts } from './vpn-state.ts'
import type { SimulatedWorld } from './world.ts'

/** Accepted prefixes of the peer; none unless BGP is up. */
export const learnedBy = (world: SimulatedWorld, tunnel: TunnelFact): readonly Prefix[] =>
  isBgpUp(world, tunnel) ? acceptedBy(world, tunnel) : []

/** Whether BGP is up or not. */
export function acceptedBy(world: SimulatedWorld, tunnel: TunnelFact): readonly Prefix[] {
  const { bgp } = tunnel.routing ?? {}
  if (bgp === undefined) return []
  const offers = offersOf(tunnel)
  const interfaces = parsePrefix(`${tunnel.remote.interfaceAddress}/30`)
  const reasons = reasonsToIgnore(offers, {
    localAsn: bgp.local.autonomousSystemNumber,
    own: ownOf(world, tunnel),
    external: interfaces === undefined ? [] : [interfaces],
  })
  return offers.flatMap(({ prefix }, index) => (reasons[index] === undefined ? [prefix] : []))
}

/** The subnets of the local side, networks of its site, and routes learned elsewhere if the gateway redistributes them. */
export function advertisedBy(world: SimulatedWorld, tunnel: TunnelFact): readonly Prefix[] {
  if (!isBgpUp(world, tunnel)) return []
  const redistributed =
    tunnel.routing?.bgp?.local.redistributesRoutes === true ? learnedFromOtherPeers(world, tunnel) : []
  const back = new Set(learnedBy(world, tunnel).map(formatPrefix))
  const site = siteOffers(tunnel.routing?.bgp?.local, ownOf(world, tunnel)).map(({ prefix }) => prefix)
  const own = [...subnetsOf(world, tunnel), ...site, ...redistributed]
  const found = new Map(own.map((prefix) => [formatPrefix(prefix), prefix]))
  for (const text of back) found.delete(text)
  return [...found.values()].slice(0, maximumPrefixes)
}

function isBgpUp(world: SimulatedWorld, tunnel: TunnelFact): boolean {
  const condition = bgpConditionOf(world, tunnel)
  return condition !== undefined && condition.reason === undefined
}

const subnetsOf = (world: SimulatedWorld, { vpcExtId, subnetExtId = '' }: TunnelFact): readonly Prefix[] =>
  vpcExtId === undefined
    ? prefixesOf(world, subnetExtId)
    : surroundingsOf(world, vpcExtId).prefixes.map(({ prefix }) => prefix)

const ownOf = (world: SimulatedWorld, tunnel: TunnelFact): readonly Prefix[] => [
  ...subnetsOf(world, tunnel),
  ...(tunnel.vpcExtId === undefined ? [] : surroundingsOf(world, tunnel.vpcExtId).externallyRoutable),
]

function learnedFromOtherPeers(world: SimulatedWorld, { connectionExtId, vpcExtId }: TunnelFact): readonly Prefix[] {
  if (vpcExtId === undefined) return []
  const peers = [...bgpFacts(world).bgpPeers.all().values()].filter((peer) => peer.vpcExtId === vpcExtId)
  const received = peers.flatMap((peer) =>
    receivedBy(world, peer).flatMap(({ ignored, prefix }) =>
      ignored === undefined ? (parsePrefix(prefix) ?? []) : [],
    ),
  )
  const others = tunnelsOf(world, vpcExtId).filter((other) => other.connectionExtId !== connectionExtId)
  return [...received, ...others.flatMap((other) => learnedBy(world, other))].filter(
    (prefix) => !isDefaultRoute(prefix),
  )
}

/** A peer that learned a default route would send all its traffic into the tunnel. */
const isDefaultRoute = ({ length }: Prefix): boolean => length === 0

export const tunnelsOf = (world: SimulatedWorld, vpcExtId: string): readonly TunnelFact[] =>
  [...tunnelFacts(world).tunnels.all().values()].filter((tunnel) => tunnel.vpcExtId === vpcExtId)

interface SiteOffer {
  readonly prefix: Prefix
  /** AS path without the site's own number. */
  readonly beyond: readonly number[]
}

/** Listed prefixes, and those that the gateway accepts from routers of its site. @param own networks of the gateway */
function siteOffers(speaker: SpeakerFact | undefined, own: readonly Prefix[]): readonly SiteOffer[] {
  if (speaker === undefined) return []
  const { autonomousSystemNumber: localAsn, interiorRouters = [], sitePrefixes } = speaker
  const listed = sitePrefixes.flatMap((text) => parsePrefix(text) ?? []).map((prefix) => ({ prefix, beyond: [] }))
  const learned = interiorRouters.flatMap((router) => {
    const external = [parsePrefix(`${router.address}/32`)].flatMap((prefix) => prefix ?? [])
    const offers = interiorRoutes(router, localAsn).flatMap(offerOf)
    const reasons = reasonsToIgnore(offers, { localAsn, own, external })
    return offers.filter(({ prefix }, index) => reasons[index] === undefined && !isDefaultRoute(prefix))
  })
  return [...listed, ...learned.map(({ prefix, autonomousSystemPath: beyond }) => ({ prefix, beyond }))]
}

/** Networks of the remote site: configured ones, and others that depend on its address and AS number. Each once. */
function offersOf({ remote, routing }: TunnelFact): readonly Offer[] {
  const speaker = routing!.bgp!.remote
  const { autonomousSystemNumber, redistributesRoutes } = speaker
  const draw = drawsFrom(`vpn site ${remote.address} ${autonomousSystemNumber}`)
  const pick = (from: number, to: number): number => from + Math.floor(draw() * (to - from + 1))
  const nexthop = parseHost(remote.interfaceAddress)
  const site = pick(210, 249)
  const [own, others] = [pick(2, 6), pick(1, 4)]
  const count = redistributesRoutes ? own + others : own
  if (nexthop === undefined) return []
  const configured = siteOffers(speaker, []).map(({ prefix, beyond }) => ({
    prefix,
    nexthop,
    autonomousSystemPath: [autonomousSystemNumber, ...beyond],
  }))
  const drawn = Array.from({ length: count }, (_, index) => index).flatMap((index) => {
    const prefix = parsePrefix(`10.${site}.${8 * index}.0/${pick(21, 26)}`)
    const beyond = index < own ? [] : [4_200_000_000 + index]
    if (prefix === undefined) return []
    return [{ prefix, nexthop, autonomousSystemPath: [autonomousSystemNumber, ...beyond] }]
  })
  const offers = new Map<string, Offer>()
  for (const offer of [...configured, ...drawn]) {
    const text = formatPrefix(offer.prefix)
    if (!offers.has(text)) offers.set(text, offer)
  }
  return [...offers.values()]
}
