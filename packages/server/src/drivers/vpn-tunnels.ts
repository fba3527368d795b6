/**
 * IPsec tunnels of VPN gateways. Idempotent; resolve when stored, before the tunnel is up. Absent tunnels are no fault for removals.
 * Source: behaviour networking.md 1.11, 3.1.
 */
export interface VpnTunnels {
  /** Creates the tunnel with its interface, or changes its addresses, which ends it. */
  programTunnel(tunnel: TunnelProgram): Promise<void>
  /** A changed key or proposal makes both ends negotiate again: the tunnel is down for seconds. */
  secureTunnel(connectionExtId: string, security: TunnelSecurity): Promise<void>
  routeTunnel(connectionExtId: string, routing: TunnelRouting): Promise<void>
  stopTunnelRouting(connectionExtId: string): Promise<void>
  /** The gateway stops answering the peer. */
  endTunnelSecurity(connectionExtId: string): Promise<void>
  removeTunnel(connectionExtId: string): Promise<void>
  /** As the local gateway sees it; undefined: it has no such tunnel. */
  tunnel(connectionExtId: string): Promise<TunnelView | undefined>
}

export interface TunnelProgram {
  readonly connectionExtId: string
  readonly gatewayExtId: string
  /** The VPC whose router uses the tunnel; absent: the gateway is on a VLAN. */
  readonly vpcExtId?: string
  /** Set for a gateway on a VLAN. */
  readonly subnetExtId?: string
  readonly local: TunnelEnd
  readonly remote: TunnelEnd
}

export interface TunnelEnd {
  readonly address: string
  /** The interface inside the tunnel has it. */
  readonly interfaceAddress: string
}

export interface TunnelSecurity {
  readonly isInitiator: boolean
  readonly preSharedKey: string
  readonly proposal: TunnelProposal
  readonly deadPeerDetection: {
    readonly intervalSeconds: number
    readonly timeoutSeconds: number
    readonly action: 'CLEAR' | 'HOLD' | 'RESTART'
  }
  readonly egressLimitMbps?: number
  readonly ingressLimitMbps?: number
}

export interface TunnelProposal {
  readonly ike: TunnelAlgorithms
  readonly ipsec: TunnelAlgorithms
  readonly diffieHellmanGroup: number
  readonly localId?: string
  readonly remoteId?: string
}

export interface TunnelAlgorithms {
  readonly encryption: string
  readonly authentication: string
  readonly lifetimeSeconds: number
}

export interface TunnelRouting {
  readonly priority: number
  /** eBGP inside the tunnel; absent: only static routes use it. */
  readonly bgp?: { readonly local: TunnelSpeaker; readonly remote: TunnelSpeaker }
}

export interface TunnelSpeaker {
  readonly autonomousSystemNumber: number
  readonly password?: string
  /** CIDR texts of its site, advertised to the peer. */
  readonly sitePrefixes: readonly string[]
  /** Routers inside its site; the speaker also advertises the routes that it accepts from them. Absent: the site has none. */
  readonly interiorRouters?: readonly InteriorRouter[]
  /** Routes that it learned elsewhere are advertised, too. */
  readonly redistributesRoutes: boolean
}

export interface InteriorRouter {
  readonly protocol: 'IBGP' | 'OSPF'
  /** OSPF: the id of the area, which is written as an address and stands for all its routers. */
  readonly address: string
}

export interface TunnelView {
  readonly isUp: boolean
  readonly reason?: string
  readonly bgp?: { readonly isUp: boolean; readonly reason?: string }
  /** CIDR texts, canonical; none unless BGP is up. */
  readonly learned: readonly string[]
  readonly advertised: readonly string[]
}
