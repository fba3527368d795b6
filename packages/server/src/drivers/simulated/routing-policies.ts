/** Simulated policies. Source: behaviour networking.md 1.7. */

import { isDeepStrictEqual } from 'node:util'
import type { PolicyProgram } from '../virtual-routing.ts'
import type { SimulatedWorld } from './world.ts'

/** `countedSince`: when its counters were zero. */
type PolicyFact = PolicyProgram & { readonly countedSince: number }

export const policyFacts = (world: SimulatedWorld) => world.collection<PolicyFact>('fabric.policy')

export function createPolicies(world: SimulatedWorld) {
  const policies = policyFacts(world)
  return {
    has: (policyExtId: string): boolean => policies.get(policyExtId) !== undefined,
    async install(policy: PolicyProgram): Promise<void> {
      const { countedSince, ...present } = policies.get(policy.extId) ?? {}
      if (countedSince !== undefined && isDeepStrictEqual(present, policy)) return
      await policies.put(policy.extId, { ...policy, countedSince: world.clock.now() })
    },
    remove: (policyExtId: string): Promise<void> => policies.remove(policyExtId),
    async removeThoseOf(vpcExtId: string): Promise<void> {
      for (const { extId } of [...policies.all().values()].filter((each) => each.vpcExtId === vpcExtId)) {
        await policies.remove(extId)
      }
    },
    async clear(policyExtIds: readonly string[]): Promise<void> {
      const countedSince = world.clock.now()
      const cleared = policyExtIds.flatMap((extId) => {
        const fact = policies.get(extId)
        return fact === undefined ? [] : [[extId, { ...fact, countedSince }] as const]
      })
      await policies.putAll(new Map(cleared))
    },
  }
}
