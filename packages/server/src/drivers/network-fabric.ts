import type { FlowExporting } from './flow-exporting.ts'
import type { FlowStatistics } from './flow-statistics.ts'
import type { Gateways } from './gateways.ts'
import type { HostNetworking } from './host-networking.ts'
import type { NetworkFunctions } from './network-functions.ts'
import type { PortStacks } from './port-stacks.ts'
import type { Reachability } from './reachability.ts'
import type { Stretching } from './stretching.ts'
import type { TrafficMirroring } from './traffic-mirroring.ts'
import type { VirtualRouting } from './virtual-routing.ts'
import type { VpnTunnels } from './vpn-tunnels.ts'

/** Switches on hosts, DHCP responders, routing peers. Idempotent; resolve when stored. Source: networking.md 1.2, 1.3, 1.10, 3.1. */
export interface NetworkFabric
  extends FlowExporting,
    FlowStatistics,
    Gateways,
    HostNetworking,
    NetworkFunctions,
    PortStacks,
    Reachability,
    Stretching,
    TrafficMirroring,
    VirtualRouting,
    VpnTunnels {
  /**
   * A repeated call programs differences, and removes the subnet from hosts that are no longer listed.
   * @throws DriverError, retryable, when a host's agent does not answer within 30 s
   */
  programSubnet(subnet: SubnetProgram): Promise<void>
  /** Resolves also for an absent subnet. */
  removeSubnet(subnetExtId: string): Promise<void>
  /** A subnet of a VPC without its own name servers hands out those of the VPC's router. */
  serveDhcp(service: DhcpService): Promise<void>
  stopDhcp(subnetExtId: string): Promise<void>
  /** Reservations and releases at the DHCP responders. */
  announceAddresses(subnetExtId: string, change: AddressChange): Promise<void>
  /** Address from a DHCP server outside the deployment, on an unmanaged VLAN; always the same for a MAC. */
  outsideAddress(vlan: Vlan, macAddress: string): Promise<string>
  /**
   * A new password, address or AS number ends the session; other changes keep it up. Resolves before the session is up, which takes
   * seconds; sessions can flap for minutes.
   */
  addBgpPeer(peer: BgpPeer): Promise<void>
  /** Withdraws the advertised routes, too. */
  removeBgpPeer(sessionExtId: string): Promise<void>
  /** As the local gateway sees it; undefined: it has no such peer. */
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
  readonly isAdvanced?: true
  /** The network function of its NICs that name none; a chain that the fabric does not know redirects nothing. */
  readonly functionChainExtId?: string
}

export interface DhcpService {
  readonly subnetExtId: string
  readonly vpcExtId?: string
  readonly prefixes: readonly string[]
  readonly gateways: readonly string[]
  readonly options: Readonly<Record<string, unknown>>
  /** DHCP servers outside; hosts then relay requests instead of answering them. */
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
  /** The local gateway, which speaks while it is up. */
  readonly gatewayExtId: string
  /** Its router takes and advertises the routes. */
  readonly vpcExtId: string
  readonly local: { readonly address: string; readonly autonomousSystemNumber: number }
  readonly remote: { readonly address: string; readonly autonomousSystemNumber: number }
  readonly password?: string
  /** Priority of accepted routes in the router. */
  readonly priority: number
  /** Equal routes of several sessions share the traffic. */
  readonly isMultipath: boolean
  readonly advertising: BgpAdvertising
}

export interface BgpAdvertising {
  /** CIDR texts; absent: all externally routable prefixes of the VPC. */
  readonly prefixes?: readonly string[]
  readonly communities: readonly BgpCommunity[]
  readonly prependedPath: readonly number[]
}

export interface BgpCommunity {
  readonly autonomousSystemNumber: number
  readonly communityValue: number
}

/** RFC 4271, 8.2.2. */
export type BgpState = 'Idle' | 'Connect' | 'Active' | 'OpenSent' | 'OpenConfirm' | 'Established'

/** No routes unless established. */
export interface BgpPeerView {
  readonly state: BgpState
  readonly reason?: string
  readonly received: readonly ReceivedRoute[]
  readonly advertised: readonly ExchangedRoute[]
}

export interface ExchangedRoute {
  readonly prefix: string
  readonly nexthop: string
  readonly communities: readonly BgpCommunity[]
}

export interface ReceivedRoute extends ExchangedRoute {
  /** Why the router does not take it. */
  readonly ignored?: string
}
