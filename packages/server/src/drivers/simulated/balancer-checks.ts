/** The health checks of simulated load balancers reach the guests of the targets. Source: behaviour networking.md 1.14, 3.4. */
import type { BalancerTarget } from '../load-balancing.ts'
import { type BalancerHealth, observed } from './balancer-health.ts'
import { type BalancerFact, balancerFacts } from './balancers.ts'
import { domainFacts } from './hypervisor/facts.ts'
import { guestReach } from './hypervisor/guest-reach.ts'
import { fabricFacts } from './network-fabric.ts'
import type { SimulatedWorld } from './world.ts'

/** Compares the guests with the last findings and stores changes. Call it after each change of a fact. */
export function targetChecks(world: SimulatedWorld, isInstant: boolean): () => Promise<void> {
  const { balancers, health } = balancerFacts(world)
  const reachableSince = reaching(world, isInstant)
  return async () => {
    const now = world.clock.now()
    const changed = new Map<string, BalancerHealth>()
    for (const [extId, fact] of balancers.all()) {
      const before = health.get(extId) ?? { targets: [] }
      const after = observed(before, fact, now, (target) => reachableSince(fact, target))
      if (after !== before) changed.set(extId, after)
    }
    if (changed.size > 0) await health.putAll(changed)
    for (const extId of [...health.all().keys()]) if (balancers.get(extId) === undefined) await health.remove(extId)
  }
}

function reaching(
  world: SimulatedWorld,
  isInstant: boolean,
): (fact: BalancerFact, target: BalancerTarget) => number | undefined {
  const domains = domainFacts(world)
  const { subnets } = fabricFacts(world)
  const reachOf = guestReach(world, isInstant)
  return ({ vpcExtId }, { nicExtId, vmExtId, port }) => {
    const guest = domains.get(vmExtId)
    const nic = guest?.domain.nics.find(({ extId }) => extId === nicExtId)
    if (guest === undefined || subnets.get(nic?.subnetExtId ?? '')?.vpcExtId !== vpcExtId) return undefined
    const reach = reachOf(guest, nicExtId, port)
    return 'since' in reach ? reach.since : undefined
  }
}
