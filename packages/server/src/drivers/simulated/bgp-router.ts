/** Routes derived from the router's address and AS number survive restarts. Source: behaviour networking.md 1.10. */
import { drawsFrom } from '../../core/ids/draws.ts'
import type { BgpPeer, ExchangedRoute } from '../network-fabric.ts'

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

const ipv4Offers: Offers = {
  fallback: '0.0.0.0/0',
  count: [4, 16],
  // Sixteen apart, so that prefixes of any of these lengths do not overlap.
  prefixAt: (index, pick) => `10.200.${16 * index}.0/${pick(20, 28)}`,
  hostAt: (index) => `10.200.${16 * index}.1/32`,
  foreign: '198.51.100.1',
}
const ipv6Offers: Offers = {
  fallback: '::/0',
  count: [2, 4],
  prefixAt: (index) => `fd00:200:${index + 1}::/48`,
  hostAt: (index) => `fd00:200:${index + 1}::1/128`,
  foreign: '2001:db8:ffff::1',
}

export function offeredRoutes(peer: Pick<BgpPeer, 'local' | 'remote'>): readonly OfferedRoute[] {
  const { address, autonomousSystemNumber } = peer.remote
  const draw = drawsFrom(`bgp router ${address} ${autonomousSystemNumber}`)
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

  const { fallback, count, prefixAt, hostAt, foreign } = address.includes(':') ? ipv6Offers : ipv4Offers
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
      const { autonomousSystemNumber: local } = peer.local
      routes.push({ ...route, autonomousSystemPath: [...route.autonomousSystemPath, local] })
    } else routes.push(route)
  }
  return routes
}
