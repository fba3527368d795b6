/** Routes derived from the router's address and AS number survive restarts. Source: behaviour networking.md 1.10. */
import { drawsFrom } from '../../core/ids/draws.ts'
import type { BgpPeer, ExchangedRoute } from '../network-fabric.ts'

export interface OfferedRoute extends ExchangedRoute {
  readonly autonomousSystemPath: readonly number[]
}

/** Share of the routes that the receiver must ignore. */
const troubledPart = 1 / 8

export function offeredRoutes(peer: Pick<BgpPeer, 'local' | 'remote'>): readonly OfferedRoute[] {
  const { address, autonomousSystemNumber } = peer.remote
  const draw = drawsFrom(`bgp router ${address} ${autonomousSystemNumber}`)
  const pick = (from: number, to: number): number => from + Math.floor(draw() * (to - from + 1))
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
    { prefix: '0.0.0.0/0', nexthop: address, autonomousSystemPath: path(), communities: communities() },
  ]
  const count = pick(4, 16)
  for (let index = 0; index < count; index++) {
    const route = {
      // Sixteen apart, so that prefixes of any of these lengths do not overlap.
      prefix: `10.200.${16 * index}.0/${pick(20, 28)}`,
      nexthop: address,
      autonomousSystemPath: path(),
      communities: communities(),
    }
    const trouble = draw() < troubledPart ? pick(0, 2) : undefined
    if (trouble === 0) routes.push({ ...route, prefix: `10.200.${16 * index}.1/32` })
    else if (trouble === 1) routes.push({ ...route, nexthop: '198.51.100.1' })
    else if (trouble === 2) {
      const { autonomousSystemNumber: local } = peer.local
      routes.push({ ...route, autonomousSystemPath: [...route.autonomousSystemPath, local] })
    } else routes.push(route)
  }
  return routes
}
