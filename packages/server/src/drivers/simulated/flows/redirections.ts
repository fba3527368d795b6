/** Traffic that network functions drop, by time. Source: behaviour networking.md 1.15, 3.1. */
import type { SubnetProgram } from '../../network-fabric.ts'
import type { Period as Healthy } from '../balancer-health.ts'
import { domainFacts } from '../hypervisor/facts.ts'
import { type FunctionFact, functionFacts, periodsOf, unobserved } from '../network-functions.ts'
import type { SimulatedWorld } from '../world.ts'
import type { Observation, ObservedRedirection, Period } from './history.ts'

/** By NIC: functions that drop packets which they cannot redirect; others lose nothing. */
export function observedRedirections(
  world: SimulatedWorld,
  since: number,
): ReadonlyMap<string, Observation<ObservedRedirection>> {
  const { functions } = functionFacts(world)
  const closing = new Map(
    [...functions.all()].flatMap(([extId, fact]) =>
      fact.mode === 'INLINE' && !fact.failsOpen ? [[extId, servedBy(world, fact)]] : [],
    ),
  )
  const observed = new Map<string, Observation<ObservedRedirection>>()
  if (closing.size === 0) return observed
  const subnets = world.collection<SubnetProgram>('fabric.subnet')
  for (const { domain } of domainFacts(world).all().values())
    for (const { extId: nicExtId, subnetExtId, functionChainExtId } of domain.nics) {
      const subnet = subnets.get(subnetExtId ?? '')
      const served = closing.get(functionChainExtId ?? subnet?.functionChainExtId ?? '')
      if (served === undefined) continue
      const { vpcExtId } = subnet ?? {}
      observed.set(nicExtId, { value: { nicExtId, ...(vpcExtId && { vpcExtId }), served }, since })
    }
  return observed
}

/** Periods with a healthy pair, unless something changes. */
function servedBy(world: SimulatedWorld, { extId, pairs }: FunctionFact): readonly Healthy[] {
  const healthOf = periodsOf(functionFacts(world).health.get(extId) ?? unobserved, Number.POSITIVE_INFINITY)
  const now = world.clock.now()
  return pairs
    .filter(({ isEnabled }) => isEnabled)
    .flatMap(({ ingressNicExtId }) => healthOf(ingressNicExtId))
    .filter(({ to }) => to === undefined || to > now)
    .sort((a, b) => a.from - b.from)
}

/** The parts of a period in which no pair served. */
export function droppedParts({ from, to, value }: Period<ObservedRedirection>): readonly Period<ObservedRedirection>[] {
  const end = to ?? Number.POSITIVE_INFINITY
  const parts: Period<ObservedRedirection>[] = []
  const add = (from: number, ended: number): void => {
    if (from < ended) parts.push({ from, value, ...(Number.isFinite(ended) && { to: ended }) })
  }
  let at = from
  for (const served of value.served) {
    add(at, Math.min(served.from, end))
    at = Math.max(at, served.to ?? Number.POSITIVE_INFINITY)
  }
  add(at, end)
  return parts
}
