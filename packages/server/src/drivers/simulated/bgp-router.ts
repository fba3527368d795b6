/** Routes derived from the names of a router survive restarts. Source: behaviour networking.md 1.10. */
import { drawnFrom, drawsFrom } from '../../core/ids/draws.ts'
import { parseHost, parsePrefix } from '../../core/ip-address.ts'
import type { Offer } from '../bgp-filter.ts'
import type { BgpPeer, ExchangedRoute } from '../network-fabric.ts'
import type { InteriorRouter } from '../vpn-tunnels.ts'

export interface OfferedRoute extends ExchangedRoute {
  readonly autonomousSystemPath: readonly number[]
}

/** Share of the routes that the receiver must ignore. */
const troubledPart = 1 / 8

type PickNumber = (from: number, to: number) => number

/** `foreign`: a nexthop on no subnet of the VPC. */
interface Offers {
  readonly fallback: string
  readonly count: readonly [number, number]
  readonly prefixAt: (index: number, pick: PickNumber) => string
  readonly hostAt: (index: number) => string
  readonly foreign: string
}

const ipv4OffersIn = (block: number): Offers => ({
  fallback: '0.0.0.0/0',
  count: [4, 16],
  // Sixteen apart, so that prefixes of any of these lengths do not overlap.
  prefixAt: (index, pick) => `10.${block}.${16 * index}.0/${pick(20, 28)}`,
  hostAt: (index) => `10.${block}.${16 * index}.1/32`,
  foreign: '198.51.100.1',
})
const ipv6Offers: Offers = {
  fallback: '::/0',
  count: [2, 4],
  prefixAt: (index) => `fd00:200:${index + 1}::/48`,
  hostAt: (index) => `fd00:200:${index + 1}::1/128`,
  foreign: '2001:db8:ffff::1',
}

const bgpBlock = 200
/** Drawn for each router inside a site; neither BGP routers nor VPN sites use them. */
const interiorBlocks = [160, 200] as const

export function offeredRoutes(peer: Pick<BgpPeer, 'local' | 'remote'>): readonly OfferedRoute[] {
  const { address, autonomousSystemNumber } = peer.remote
  const offers = address.includes(':') ? ipv6Offers : ipv4OffersIn(bgpBlock)
  return drawnRoutes(`bgp router ${address} ${autonomousSystemNumber}`, peer, offers)
}

/** @param autonomousSystemNumber of the site: AS paths inside it do not hold the number */
export function interiorRoutes(router: InteriorRouter, autonomousSystemNumber: number): readonly OfferedRoute[] {
  const { protocol, address } = router
  const called = `${protocol} ${address} ${autonomousSystemNumber}`
  const speaker = { address, autonomousSystemNumber }
  const block = Math.floor(drawnFrom(`block of ${called}`, interiorBlocks))
  return drawnRoutes(called, { local: speaker, remote: speaker }, ipv4OffersIn(block)).map((route) => ({
    ...route,
    autonomousSystemPath: route.autonomousSystemPath.slice(1),
  }))
}

/** For the filter of the receiver. */
export function offerOf<R extends OfferedRoute>(route: R): readonly (Offer & Omit<R, 'prefix' | 'nexthop'>)[] {
  const [prefix, nexthop] = [parsePrefix(route.prefix), parseHost(route.nexthop)]
  return prefix === undefined || nexthop === undefined ? [] : [{ ...route, prefix, nexthop }]
}

function drawnRoutes(
  called: string,
  { local, remote }: Pick<BgpPeer, 'local' | 'remote'>,
  { fallback, count, prefixAt, hostAt, foreign }: Offers,
): readonly OfferedRoute[] {
  const { address, autonomousSystemNumber } = remote
  const draw = drawsFrom(called)
  const pick: PickNumber = (from, to) => from + Math.floor(draw() * (to - from + 1))
  const communities = (): OfferedRoute['communities'] =>
    Array.from({ length: pick(0, 3) }, (_, index) => ({
      autonomousSystemNumber: autonomousSystemNumber & 0xffff,
      communityValue: 100 * (index + 1) + pick(0, 99),
    }))
  // Private AS numbers from the upper range: seeds use none of them.
  const path = (): number[] => [
    autonomousSystemNumber,
    ...Array.from({ length: pick(0, 3) }, () => 4_200_000_000 + pick(0, 9999)),
  ]

  const routes: OfferedRoute[] = [
    { prefix: fallback, nexthop: address, autonomousSystemPath: path(), communities: communities() },
  ]
  const routeCount = pick(...count)
  for (let index = 0; index < routeCount; index++) {
    const route = {
      prefix: prefixAt(index, pick),
      nexthop: address,
      autonomousSystemPath: path(),
      communities: communities(),
    }
    const trouble = draw() < troubledPart ? pick(0, 2) : undefined
    if (trouble === 0) routes.push({ ...route, prefix: hostAt(index) })
    else if (trouble === 1) routes.push({ ...route, nexthop: foreign })
    else if (trouble === 2) {
      const looped = [...route.autonomousSystemPath, local.autonomousSystemNumber]
      routes.push({ ...route, autonomousSystemPath: looped })
    } else routes.push(route)
  }
  return routes
}
