/** Traffic of a load balancer. Source: catalogue networking.json; behaviour networking.md 1.14, 3.3. */
import { baseFields, read } from '../operation.ts'
import * as s from '../schema.ts'
import { LoadBalancerSession } from './load-balancer-session.ts'
import { routingReaders } from './roles.ts'
import { sampledRead, samples, statType } from './sampled.ts'

const traffic = { numBytes: samples(), numPackets: samples(), numRequests: samples() }

export const LoadBalancerSessionStats = s.object('networking.v4.stats.LoadBalancerSessionStats', {
  ...baseFields,
  statType: s.optional(statType),
  listenerStats: s.optional(
    s.arrayOf(s.object('networking.v4.stats.ListenerStats', { virtualIpAddress: s.optional(s.text()), ...traffic })),
  ),
  /** Includes former targets with traffic: the sum over targets is the traffic of the listener. */
  targetStats: s.optional(
    s.arrayOf(s.object('networking.v4.stats.TargetStats', { virtualNicReference: s.optional(s.uuid()), ...traffic })),
  ),
})

export const loadBalancerSessionStatsOperations = {
  getLoadBalancerSessionStats: read('/stats/load-balancer-sessions/{extId}', LoadBalancerSessionStats, {
    of: LoadBalancerSession,
    roles: routingReaders,
    ...sampledRead(LoadBalancerSessionStats),
  }),
}
