/** The active pair of a network function over time. Source: networking.md 1.15. */
import type { FunctionPair } from '../network-functions.ts'
import type { Period } from './balancer-health.ts'

export interface Active {
  readonly nicExtId: string
  /** The choice is known up to this time. */
  readonly at: number
}

type HealthOf = (nicExtId: string) => readonly Period[]

const isWithin = (time: number, { from, to = Number.POSITIVE_INFINITY }: Period): boolean => from <= time && time < to

/**
 * Initially the first enabled pair; when the active pair fails, traffic moves to a healthy one, and never returns by itself.
 * @param before the last known choice @param now not before it
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

function turnsBetween(periods: readonly Period[], since: number, now: number): readonly number[] {
  const times = periods.flatMap(({ from, to }) => [from, ...(to === undefined ? [] : [to])])
  return [...new Set([...times.filter((time) => time > since && time <= now), now])].sort((a, b) => a - b)
}
