/** Which routes of a router forward. Source: behaviour networking.md 1.6. */
import { type Address, bitsOf, type Family, type Prefix, prefixOf } from '../core/ip-address.ts'

export interface Candidate {
  readonly prefix: Prefix
  /** The highest wins. */
  readonly priority: number
  /** World's time; among equal priorities the oldest wins. */
  readonly since: number
  /** Routes whose nexthop does not work are not selected. */
  readonly isUsable: boolean
  /** Shares the traffic with multipath routes of the same priority (ECMP), instead of giving way to an older one. */
  readonly isMultipath?: boolean
}

/** The routes that forward: for each destination the best, or several of equal cost. */
export function selected<C extends Candidate>(candidates: readonly C[]): ReadonlySet<C> {
  const best = new Map<string, C[]>()
  for (const candidate of candidates) {
    if (!candidate.isUsable) continue
    const destination = keyOf(candidate.prefix)
    const [rival, ...others] = best.get(destination) ?? []
    const isBetter = rival === undefined || preference(candidate, rival) > 0
    const isShared = rival?.priority === candidate.priority && rival.isMultipath === true && candidate.isMultipath
    if (isShared === true) best.set(destination, [rival, ...others, candidate])
    else if (isBetter) best.set(destination, [candidate])
  }
  return new Set([...best.values()].flat())
}

const preference = (a: Candidate, b: Candidate): number => a.priority - b.priority || b.since - a.since

/** Longest prefix match. @param routes those that forward @returns several routes for equal costs */
export function routesBy<C extends Pick<Candidate, 'prefix'>>(routes: Iterable<C>): (address: Address) => readonly C[] {
  const byPrefix = new Map<string, C[]>()
  const lengths = new Map<Family, Set<number>>()
  for (const route of routes) {
    const { family, length } = route.prefix
    lengths.set(family, (lengths.get(family) ?? new Set()).add(length))
    const key = keyOf(route.prefix)
    byPrefix.set(key, [...(byPrefix.get(key) ?? []), route])
  }
  const longestFirst = new Map([...lengths].map(([family, found]) => [family, [...found].sort((a, b) => b - a)]))
  return (address) => {
    for (const length of longestFirst.get(address.family) ?? []) {
      const found = byPrefix.get(keyOf(prefixOf(address, length)))
      if (found !== undefined) return found
    }
    return []
  }
}

const keyOf = ({ family, length, first }: Prefix): string => `${family} ${length} ${first.toString(36)}`

export const isHostRoute = ({ family, length }: Prefix): boolean => length === bitsOf(family)
