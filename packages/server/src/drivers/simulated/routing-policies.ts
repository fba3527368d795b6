/** Simulated policies; counters are a function of the policy and of time. Source: behaviour networking.md 1.7. */

import { isDeepStrictEqual } from 'node:util'
import { drawsFrom } from '../../core/ids/draws.ts'
import type { PolicyProgram } from '../virtual-routing.ts'
import type { Collection, SimulatedWorld } from './world.ts'

/** `countedSince`: world's time in milliseconds. */
export type PolicyFact = PolicyProgram & { readonly countedSince: number }

export interface Counters {
  readonly packets: number
  readonly bytes: number
}

const packetsPerSecond = [20, 400] as const
const bytesPerPacket = [500, 1200] as const
/** Share of the rule's traffic that takes its fallback. */
const fallbackPart = 0.01

export const policyFacts = (world: SimulatedWorld): Collection<PolicyFact> => world.collection('fabric.policy')

/** `reverse` counts a mirrored rule, `fallback` a rule that reroutes. */
export function countersOf(
  world: SimulatedWorld,
  policyExtId: string,
): { readonly forward: Counters; readonly reverse: Counters; readonly fallback: Counters } | undefined {
  const fact = policyFacts(world).get(policyExtId)
  if (fact === undefined) return undefined
  const seconds = (world.clock.now() - fact.countedSince) / 1000
  const draw = drawsFrom(`${world.seed} policy ${policyExtId}`)
  const counted = (part: number): Counters => {
    const within = ([least, most]: readonly [number, number]): number => least + draw() * (most - least)
    const packets = Math.floor(seconds * within(packetsPerSecond) * part)
    return { packets, bytes: Math.floor(packets * within(bytesPerPacket)) }
  }
  const { isBidirectional, policyAction } = fact.rule
  return {
    forward: counted(1),
    reverse: counted(isBidirectional === true ? 1 : 0),
    fallback: counted(policyAction.actionType === 'REROUTE' ? fallbackPart : 0),
  }
}

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
