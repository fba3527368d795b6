/** Source: behaviour networking.md 1.15, 3.4. */
import type { HealthCheck } from '../load-balancing.ts'
import type { FunctionProgram, FunctionView, NetworkFunctions } from '../network-functions.ts'
import { type BalancerHealth, healthyPeriods, isOpen, type Period } from './balancer-health.ts'
import { type Active, activeAt } from './function-health.ts'
import type { SimulatedWorld } from './world.ts'

export type FunctionFact = FunctionProgram & { readonly check?: HealthCheck }

interface FunctionHealth extends BalancerHealth {
  readonly active?: Active
}

export const functionFacts = (world: SimulatedWorld) => ({
  functions: world.collection<FunctionFact>('fabric.network-function'),
  health: world.collection<FunctionHealth>('fabric.network-function-health'),
})

export const unobserved: FunctionHealth = { targets: [] }

export function periodsOf({ targets, check }: BalancerHealth, now: number): (nicExtId: string) => readonly Period[] {
  return (nicExtId) => {
    const history = targets.findLast((each) => each.nicExtId === nicExtId && each.until === undefined)
    return history === undefined ? [] : healthyPeriods(history, check, now)
  }
}

export function createNetworkFunctions(world: SimulatedWorld): NetworkFunctions {
  const { functions, health } = functionFacts(world)
  return {
    async programFunction(program) {
      const before = functions.get(program.extId)
      const observed = health.get(program.extId) ?? unobserved
      const now = world.clock.now()
      // Until now the previous pairs decide, from now on the new ones.
      const active = before && activeAt(before.pairs, periodsOf(observed, now), observed.active, now)
      if (active !== undefined) await health.put(program.extId, { ...observed, active })
      await functions.put(program.extId, { ...program, ...(before?.check && { check: before.check }) })
    },
    async probeFunction(functionExtId, check) {
      const { check: _, ...program } = functions.get(functionExtId) ?? {}
      if (!('extId' in program)) return
      await functions.put(functionExtId, { ...program, ...(check && { check }) })
    },
    async removeFunction(functionExtId) {
      await functions.remove(functionExtId)
      await health.remove(functionExtId)
    },
    networkFunction: async (functionExtId) => functionView(world, functionExtId),
  }
}

export function functionView(world: SimulatedWorld, functionExtId: string): FunctionView | undefined {
  const { functions, health } = functionFacts(world)
  const fact = functions.get(functionExtId)
  if (fact === undefined) return undefined
  const observed = health.get(functionExtId) ?? unobserved
  const now = world.clock.now()
  const healthOf = periodsOf(observed, now)
  const isHealthy = (nicExtId: string): boolean => isOpen(healthOf(nicExtId))
  const activeNicExtId = activeAt(fact.pairs, healthOf, observed.active, now)?.nicExtId
  const isServed = activeNicExtId !== undefined && (fact.mode === 'VTAP' || isHealthy(activeNicExtId))
  return {
    pairs: fact.pairs.map(({ ingressNicExtId }) => ({ ingressNicExtId, isHealthy: isHealthy(ingressNicExtId) })),
    ...(activeNicExtId !== undefined && { activeNicExtId }),
    forwarding: isServed ? 'REDIRECTED' : fact.failsOpen || fact.mode === 'VTAP' ? 'PASSED' : 'DROPPED',
  }
}
