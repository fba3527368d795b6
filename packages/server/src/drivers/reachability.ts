/** How the network would carry one packet. A driver for OVN would ask `ovn-trace`. */
export interface Reachability {
  /** Follows the packet through what is programmed and up now. Sends nothing, and does not follow the answer. */
  trace(packet: TracedPacket): Promise<Trace>
}

export interface TracedPacket {
  readonly source: TraceEnd
  readonly destination: TraceEnd
  readonly protocol: 'ICMP' | 'TCP' | 'UDP'
  readonly sourcePort?: number
  readonly destinationPort?: number
}

export interface TraceEnd {
  readonly nicExtId?: string
  /** With a NIC: one of its addresses, by default the first. */
  readonly address?: string
  /** Where an address without a NIC is; absent: outside of all VPCs. */
  readonly vpcExtId?: string
}

export interface Trace {
  /** NOT_ROUTABLE: a hop has no route to the destination. */
  readonly outcome: 'DELIVERED' | 'DROPPED' | 'NOT_ROUTABLE'
  readonly reason: string
  readonly hops: readonly TraceHop[]
}

export type HopType =
  | 'EXTERNAL_NETWORK'
  | 'FLOATING_IP'
  | 'LOAD_BALANCER'
  | 'NAT'
  | 'NETWORK_FUNCTION'
  | 'NIC'
  | 'POLICY'
  | 'ROUTE'
  | 'ROUTER'
  | 'SUBNET'
  | 'TUNNEL'

export interface TraceHop {
  readonly type: HopType
  /** Absent for an address of the physical network. */
  readonly entity?: { readonly kind: string; readonly extId: string }
  /** The rule that decided, and what became of the packet. */
  readonly decision: string
  /** Source and destination when the packet leaves the hop. */
  readonly sourceAddress: string
  readonly destinationAddress: string
}
