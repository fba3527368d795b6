/** Which routes of a BGP peer the router of a VPC takes. Source: behaviour networking.md 1.10. */
import { type Address, formatAddress, formatPrefix, isInRange, overlap, type Prefix } from '../core/ip-address.ts'
import { isHostRoute } from './route-selection.ts'

/** Per session; later prefixes are ignored. */
export const maximumPrefixes = 250

export interface FilterTerms {
  readonly localAsn: number
  /** Subnets and externally routable prefixes of the VPC. */
  readonly own: readonly Prefix[]
  /** Prefixes of the external subnet of the peer, which has no NAT. */
  readonly external: readonly Prefix[]
}

export interface Offer {
  readonly prefix: Prefix
  readonly nexthop: Address
  readonly autonomousSystemPath: readonly number[]
}

/** For each offer, in order: why it is ignored, or undefined for an accepted one. */
export function reasonsToIgnore(offers: readonly Offer[], terms: FilterTerms): readonly (string | undefined)[] {
  let accepted = 0
  return offers.map((offer) => {
    const reason = reasonToIgnore(offer, terms)
    if (reason !== undefined) return reason
    if (accepted >= maximumPrefixes) return `beyond ${maximumPrefixes} prefixes of this session`
    accepted++
    return undefined
  })
}

function reasonToIgnore(
  { prefix, nexthop, autonomousSystemPath }: Offer,
  { localAsn, own, external }: FilterTerms,
): string | undefined {
  if (isHostRoute(prefix)) return 'a host route'
  if (autonomousSystemPath.includes(localAsn)) return `the AS path holds the local AS number ${localAsn}`
  const isReachable = external.some((net) => net.family === nexthop.family && isInRange(net, nexthop.value))
  if (!isReachable) return `the nexthop ${formatAddress(nexthop)} is not on the external subnet`
  // A default route overlaps every prefix, but more specific routes take precedence: it is accepted.
  const clash = own.find((net) => net.family === prefix.family && prefix.length > 0 && overlap(net, prefix))
  return clash === undefined ? undefined : `overlaps ${formatPrefix(clash)} of the VPC`
}
