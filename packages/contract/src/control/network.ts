/** Traces of packets through the network of a world: each hop, and the rule that decided there. */
import { action } from '../operation.ts'
import * as s from '../schema.ts'
import { controlled } from './administration.ts'

const named = s.text({ minLength: 1, maxLength: 255 })
const address = s.text({ minLength: 2, maxLength: 45 })
const port = s.integer({ minimum: 0, maximum: 65535 })

const TraceEnd = s.object('control.v1.TraceEnd', {
  /** Its first NIC. */
  vm: s.optional(named),
  nicExtId: s.optional(s.uuid()),
  /** With a NIC: one of its addresses, by default the first. Without: any address. */
  address: s.optional(address),
  /** Location of an address without a NIC; absent: outside of all VPCs. */
  vpc: s.optional(named),
})

export const TraceRequest = s.object('control.v1.TraceRequest', {
  source: TraceEnd,
  destination: TraceEnd,
  protocol: s.withDefault(s.enumeration(['ICMP', 'TCP', 'UDP']), 'TCP'),
  /** Default: 50000. */
  sourcePort: s.optional(port),
  /** Required for TCP and UDP. */
  destinationPort: s.optional(port),
})

export const TraceHop = s.object('control.v1.TraceHop', {
  type: s.enumeration(`
    EXTERNAL_NETWORK, FLOATING_IP, LOAD_BALANCER, NAT, NETWORK_FUNCTION, NIC, POLICY, ROUTE, ROUTER, SUBNET, TUNNEL
  `),
  /** Absent: the physical network. */
  entity: s.optionalObject('control.v1.TracedEntity', { kind: s.text(), extId: s.text(), name: s.optional(s.text()) }),
  /** The rule that decided, and what became of the packet. */
  decision: s.text(),
  /** Source and destination when the packet leaves the hop. */
  sourceAddress: s.text(),
  destinationAddress: s.text(),
})

export const NetworkTrace = s.object('control.v1.NetworkTrace', {
  /** DROPPED: the last hop refuses the packet. NOT_ROUTABLE: nothing there knows where to send it. */
  outcome: s.enumeration(['DELIVERED', 'DROPPED', 'NOT_ROUTABLE']),
  reason: s.text(),
  hops: s.arrayOf(TraceHop, { maxItems: 200 }),
})

export const networkOperations = {
  traceNetwork: action('/worlds/{worldName}/network/$actions/trace', {
    ...controlled,
    envelope: 'control.v1.NetworkTraceApiResponse',
    iam: 'View_Network',
    body: TraceRequest,
    answer: NetworkTrace,
  }),
}
