/**
 * Layer-2 stretches: one broadcast domain at two sites. Idempotent; resolve when stored, before the tunnel is up. Absent ones are no fault.
 * Source: behaviour networking.md 1.12, 3.1.
 */
export interface Stretching {
  /** Creates or changes the tunnel, without frames in it. */
  programStretch(stretch: StretchProgram): Promise<void>
  /** Frames of the subnet enter the tunnel. */
  bridgeSubnet(stretchExtId: string): Promise<void>
  /** The gateways forget the learned addresses. */
  endBridging(stretchExtId: string): Promise<void>
  removeStretch(stretchExtId: string): Promise<void>
  stretch(stretchExtId: string): Promise<StretchView | undefined>
  /** Gateways that serve a stretch together with this one. */
  peersOfGateway(gatewayExtId: string): Promise<readonly PeeredGateway[]>
}

export interface StretchProgram {
  readonly extId: string
  readonly subnetExtId: string
  /** The gateway's interface on the subnet has it. */
  readonly interfaceAddress: string
  readonly mtu: number
  readonly remote: { readonly siteExtId: string; readonly subnetExtId: string }
  readonly tunnel: VpnTunnel | VxlanTunnel
}

export interface VpnTunnel {
  readonly type: 'VPN'
  readonly connectionExtId: string
}

export interface VxlanTunnel {
  readonly type: 'VXLAN'
  readonly vni: number
  readonly gatewayExtId: string
  /** Whether another gateway of the same network takes over when this one fails. */
  readonly isHighlyAvailable: boolean
  readonly vteps: readonly string[]
}

export interface StretchView {
  readonly isInterfaceUp: boolean
  readonly isTunnelUp: boolean
  readonly reason?: string
  /** Absent while the tunnel is down. */
  readonly roundTripMillis?: number
  readonly failover?: 'FAILED' | 'IN_PROGRESS'
  readonly peers: readonly PeeredGateway[]
  /** From frames that came through the tunnel in the last 300 s. */
  readonly learned: readonly LearnedAddress[]
}

export interface PeeredGateway {
  readonly extId: string
  readonly isUp: boolean
  readonly reason?: string
}

export interface LearnedAddress {
  readonly macAddress: string
  /** The remote end of a VXLAN tunnel. */
  readonly vtep?: string
}
