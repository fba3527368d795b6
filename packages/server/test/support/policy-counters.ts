/** Counters of routing policies in the simulated world. Source: behaviour networking.md 1.7. */

import type { Flows } from '../../src/drivers/simulated/flows/flows.ts'
import { bucketMillis } from '../../src/drivers/simulated/flows/integrals.ts'
import { policyFacts } from '../../src/drivers/simulated/routing-policies.ts'

export interface Counters {
  readonly packets: number
  readonly bytes: number
}

/**
 * Over every 30 s that ended since the counters were zero. `forward` counts packets that the rule matches, `reverse` those of
 * its mirrored rule, `fallback` those of both whose service did not answer.
 */
interface PolicyCounters {
  readonly forward: Counters
  readonly reverse: Counters
  readonly fallback: Counters
}

export function countersOf(flows: Flows, policyExtId: string): PolicyCounters | undefined {
  const fact = policyFacts(flows.world).get(policyExtId)
  if (fact === undefined) return undefined
  const counters = { forward: none(), reverse: none(), fallback: none() }
  const now = flows.world.clock.now()
  const first = (Math.floor(fact.countedSince / bucketMillis) + 1) * bucketMillis
  for (let time = first; time <= now; time += bucketMillis) {
    flows.tableAt(fact.vpcExtId, time)?.visit(time / 1000, ({ decision, bytesPerPacket }, rate) => {
      if (decision.policyExtId !== policyExtId) return
      const packets = Math.ceil(rate / bytesPerPacket)
      count(decision.isReverse === true ? counters.reverse : counters.forward, rate, packets)
      if (decision.isFallback === true) count(counters.fallback, rate, packets)
    })
  }
  return counters
}

const none = () => ({ packets: 0, bytes: 0 })

function count(counters: { packets: number; bytes: number }, rate: number, packets: number): void {
  counters.bytes += (rate * bucketMillis) / 1000
  counters.packets += (packets * bucketMillis) / 1000
}
