/** Probes of simulated network functions go through the guests. Source: behaviour networking.md 1.15, 3.4. */
import type { FunctionPair } from '../network-functions.ts'
import { observed } from './balancer-health.ts'
import { activeAt } from './function-health.ts'
import { domainFacts, hasFault } from './hypervisor/facts.ts'
import { guestReach } from './hypervisor/guest-reach.ts'
import { functionFacts, periodsOf, unobserved } from './network-functions.ts'
import type { SimulatedWorld } from './world.ts'

/** Compares the guests with the last findings and stores changes. Call it after each change of a fact. */
export function functionProbes(world: SimulatedWorld, isInstant: boolean): () => Promise<void> {
  const { functions, health } = functionFacts(world)
  const domains = domainFacts(world)
  const reachOf = guestReach(world, isInstant)
  const reachableSince = ({ vmExtId, ingressNicExtId, egressNicExtId }: FunctionPair): number | undefined => {
    const guest = domains.get(vmExtId)
    if (guest === undefined || hasFault(guest, 'NETWORK_FUNCTION_DEAF')) return undefined
    const since = [ingressNicExtId, egressNicExtId ?? ingressNicExtId].map((nicExtId) => {
      const reach = reachOf(guest, nicExtId)
      return 'since' in reach ? reach.since : undefined
    })
    return since.some((time) => time === undefined) ? undefined : Math.max(...(since as number[]))
  }
  return async () => {
    const now = world.clock.now()
    for (const [extId, fact] of functions.all()) {
      const before = health.get(extId) ?? unobserved
      const targets = fact.pairs.map(({ ingressNicExtId, vmExtId }) => ({
        nicExtId: ingressNicExtId,
        vmExtId,
        port: 0,
      }))
      const found = observed(before, { targets, ...(fact.check && { check: fact.check }) }, now, ({ nicExtId }) =>
        reachableSince(fact.pairs.find((each) => each.ingressNicExtId === nicExtId)!),
      )
      if (found === before) continue
      const active = activeAt(fact.pairs, periodsOf(found, now), before.active, now)
      await health.put(extId, { ...found, ...(active && { active }) })
    }
    for (const extId of [...health.all().keys()]) if (functions.get(extId) === undefined) await health.remove(extId)
  }
}
