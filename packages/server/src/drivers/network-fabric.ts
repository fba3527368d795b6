import type { VirtualRouting } from './virtual-routing.ts'

/**
 * The network: switches on hosts, DHCP responders, routing peers. Implemented by `simulated/` and by each real backend.
 * Every call that changes something is idempotent; it resolves once the fabric holds the configuration, durably.
 * Source: behaviour networking.md 1.2, 1.3, 1.10, 3.1.
 */
export interface NetworkFabric extends VirtualRouting {
  /**
   * Makes the subnet exist on these hosts, as a VLAN on a virtual switch or as a logical switch of a VPC; a repeated
   * call with other values re-programs what differs and removes the subnet from hosts that are no longer named.
   * @throws DriverError, retryable, when a host's agent does not answer within 30 s
   */
  programSubnet(subnet: SubnetProgram): Promise<void>
  /** Takes the subnet from every host. A subnet that is not there is no fault. */
  removeSubnet(subnetExtId: string): Promise<void>
  /**
   * Makes hosts answer DHCP in this subnet. A subnet of a VPC without its own name servers hands out the current ones
   * of the VPC's router.
   */
  serveDhcp(service: DhcpService): Promise<void>
  stopDhcp(subnetExtId: string): Promise<void>
  /** Reserves and releases addresses at the DHCP responders of a subnet. */
  announceAddresses(subnetExtId: string, change: AddressChange): Promise<void>
  /** The address that a DHCP server outside the deployment gives to this MAC on an unmanaged VLAN; always the same. Reads only. */
  outsideAddress(vlan: Vlan, macAddress: string): Promise<string>
  /**
   * Makes the local gateway peer with a router. Resolves once the gateway holds the configuration, not once the session
   * is up: that takes seconds, and sessions can flap for minutes.
   */
  addBgpPeer(peer: BgpPeer): Promise<void>
  /** Withdraws the advertised routes and removes the peer. */
  removeBgpPeer(sessionExtId: string): Promise<void>
  /** The session as the local gateway sees it now; undefined when it has no such peer. Reads only. */
  bgpPeer(sessionExtId: string): Promise<BgpPeerView | undefined>
}

export interface SubnetProgram {
  readonly extId: string
  readonly type: 'VLAN' | 'OVERLAY'
  /** VLAN tag (0: untagged), or the 24-bit network identifier of a logical switch. */
  readonly tag: number
  readonly virtualSwitchExtId?: string
  readonly vpcExtId?: string
  readonly hostExtIds: readonly string[]
}

export interface DhcpService {
  readonly subnetExtId: string
  readonly vpcExtId?: string
  /** CIDR texts of the families that are managed. */
  readonly prefixes: readonly string[]
  readonly gateways: readonly string[]
  readonly options: Readonly<Record<string, unknown>>
  /** DHCP servers outside, to which hosts relay requests of guests instead of answering them. */
  readonly relayTo?: readonly { readonly address: string; readonly port: number }[]
}

export interface AddressChange {
  readonly held?: readonly string[]
  readonly freed?: readonly string[]
}

export interface Vlan {
  readonly virtualSwitchExtId: string
  readonly tag: number
}

export interface BgpPeer {
  readonly sessionExtId: string
  readonly local: { readonly address: string; readonly autonomousSystemNumber: number }
  readonly remote: { readonly address: string; readonly autonomousSystemNumber: number }
}

/** States of the protocol's own machine (RFC 4271, 8.2.2). */
export type BgpState = 'Idle' | 'Connect' | 'Active' | 'OpenSent' | 'OpenConfirm' | 'Established'

export interface BgpPeerView {
  readonly state: BgpState
  /** Why it is not established, where that is known. */
  readonly reason?: string
  /** Routes that the peer sends, accepted or not; empty unless established. */
  readonly routes: readonly OfferedRoute[]
}

/** A route as a peer offers it. */
export interface OfferedRoute {
  /** CIDR text, canonical. */
  readonly prefix: string
  readonly nexthop: string
  readonly autonomousSystemPath: readonly number[]
  readonly communities: readonly { readonly autonomousSystemNumber: number; readonly communityValue: number }[]
}
