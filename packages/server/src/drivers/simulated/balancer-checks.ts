/** The health checks of simulated load balancers reach the guests of the targets. Source: behaviour networking.md 1.14, 3.4. */
import type { BalancerTarget } from '../load-balancing.ts'
import { type BalancerHealth, observed } from './balancer-health.ts'
import { type BalancerFact, balancerFacts } from './balancers.ts'
import { GuestBoots } from './hypervisor/boots.ts'
import type { DomainFact } from './hypervisor/facts.ts'
import { SimulatedHosts } from './hypervisor/hosts.ts'
import { renewMillis } from './hypervisor/nics.ts'
import { isPaused } from './hypervisor/pauses.ts'
import { fabricFacts } from './network-fabric.ts'
import type { SimulatedWorld } from './world.ts'

/** Compares the guests with the last findings and stores what changed. To be called after each change of a fact. */
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
  const hosts = new SimulatedHosts(world)
  const boots = new GuestBoots(world, isInstant)
  const { subnets } = fabricFacts(world)
  // Facts are replaced, never changed; a change of one guest must not cost the boots of all.
  const known = new WeakMap<DomainFact, number>()
  const bootOf = (guest: DomainFact): number => {
    const bootedAt = known.get(guest) ?? boots.timesOf(guest).ends.customization
    known.set(guest, bootedAt)
    return bootedAt
  }
  return ({ vpcExtId }, { nicExtId, vmExtId, port }) => {
    const guest = hosts.domains.get(vmExtId)
    if (guest?.state !== 'ON' || guest.hungSince !== undefined || guest.closedPorts?.includes(port)) return undefined
    if (isPaused(world, guest) || hosts.faultOf(guest.hostExtId).isDown === true) return undefined
    const nic = guest.domain.nics.find(({ extId }) => extId === nicExtId)
    const isInVpc = subnets.get(nic?.subnetExtId ?? '')?.vpcExtId === vpcExtId
    const bootedAt = bootOf(guest)
    if (nic?.isConnected !== true || !isInVpc || !Number.isFinite(bootedAt)) return undefined
    const pluggedAt = guest.nicChanges?.[nicExtId]?.at
    return pluggedAt === undefined || isInstant ? bootedAt : Math.max(bootedAt, pluggedAt + renewMillis)
  }
}
