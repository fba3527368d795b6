/** Which pair of a network function is active over time. Times are milliseconds since 1970. Source: networking.md 1.15. */
import type { FunctionPair } from '../network-functions.ts'
import type { Period } from './balancer-health.ts'

export interface Active {
  readonly nicExtId: string
  /** Up to this time the choice is known. */
  readonly at: number
}

/** The periods of health of each pair, by its ingress NIC. */
type HealthOf = (nicExtId: string) => readonly Period[]

const isWithin = (time: number, { from, to = Number.POSITIVE_INFINITY }: Period): boolean => from <= time && time < to

/**
 * Traffic goes to the first enabled pair; it leaves an active pair that fails as soon as another one is healthy, and never
 * returns by itself.
 * @param before the choice that was known last @param now not before it
 */
export function activeAt(
  pairs: readonly FunctionPair[],
  healthOf: HealthOf,
  before: Active | undefined,
  now: number,
): Active | undefined {
  const enabled = pairs.filter(({ isEnabled }) => isEnabled).map(({ ingressNicExtId }) => ingressNicExtId)
  const [first] = enabled
  if (first === undefined) return undefined
  const since = before?.at ?? Number.NEGATIVE_INFINITY
  let active = before !== undefined && enabled.includes(before.nicExtId) ? before.nicExtId : first
  for (const time of turnsBetween(enabled.flatMap(healthOf), since, now)) {
    const isHealthy = (nicExtId: string): boolean => healthOf(nicExtId).some((period) => isWithin(time, period))
    if (!isHealthy(active)) active = enabled.find(isHealthy) ?? active
  }
  return { nicExtId: active, at: now }
}

/** The times at which the health of a pair changed, and `now`. */
function turnsBetween(periods: readonly Period[], since: number, now: number): readonly number[] {
  const times = periods.flatMap(({ from, to }) => [from, ...(to === undefined ? [] : [to])])
  return [...new Set([...times.filter((time) => time > since && time <= now), now])].sort((a, b) => a - b)
}
