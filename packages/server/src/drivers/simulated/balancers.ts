/** Simulated load balancers. Source: behaviour networking.md 1.14, 3.1. */
import type { BalancerProgram, HealthCheck, LoadBalancing } from '../load-balancing.ts'
import { type BalancerHealth, healthyPeriods, isOpen, isSameTarget } from './balancer-health.ts'
import type { SimulatedWorld } from './world.ts'

export type BalancerFact = BalancerProgram & { readonly check?: HealthCheck }

/** By session id. `health` has the findings of the checks. */
export const balancerFacts = (world: SimulatedWorld) => ({
  balancers: world.collection<BalancerFact>('fabric.balancer'),
  health: world.collection<BalancerHealth>('fabric.balancer-health'),
})

/** @param requireRouter throws DriverError when the VPC has none @param requireUp when no controller answers */
export function createBalancers(
  world: SimulatedWorld,
  requireRouter: (vpcExtId: string) => unknown,
  requireUp: () => void,
): LoadBalancing {
  const { balancers, health } = balancerFacts(world)
  async function change(sessionExtId: string, changes: Partial<BalancerFact>): Promise<void> {
    const fact = balancers.get(sessionExtId)
    if (fact === undefined) return
    requireUp()
    await balancers.put(sessionExtId, { ...fact, ...changes })
  }
  return {
    async programBalancer(balancer) {
      requireRouter(balancer.vpcExtId)
      await balancers.put(balancer.extId, { ...balancers.get(balancer.extId), ...balancer })
    },
    retargetBalancer: async (sessionExtId, targets) => change(sessionExtId, { targets }),
    checkTargets: async (sessionExtId, check) => change(sessionExtId, { check }),
    async removeBalancer(sessionExtId) {
      if (balancers.get(sessionExtId) === undefined) return
      requireUp()
      await balancers.remove(sessionExtId)
    },
    async balancer(sessionExtId) {
      const fact = balancers.get(sessionExtId)
      if (fact === undefined) return undefined
      const { check, targets = [] } = health.get(sessionExtId) ?? {}
      const now = world.clock.now()
      return {
        targets: fact.targets.map(({ nicExtId, vmExtId, port }) => {
          const history = targets.findLast((each) => isSameTarget(each, { nicExtId, vmExtId, port }))
          const isHealthy = history?.until === undefined && history !== undefined
          return { nicExtId, vmExtId, port, isHealthy: isHealthy && isOpen(healthyPeriods(history, check, now)) }
        }),
      }
    },
  }
}
