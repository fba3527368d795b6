/** Services of gateway appliances. Idempotent; resolve when stored. Absent gateways are no fault. Source: networking.md 1.9, 3.1. */
export interface Gateways {
  /** The appliance applies it at once, or when it answers again. */
  configureGateway(gateway: GatewayProgram): Promise<void>
  removeGateway(gatewayExtId: string): Promise<void>
  /** Resolves when the agent in the appliance answers. @throws DriverError, retryable, when the appliance does not run */
  awaitAgent(gatewayExtId: string, vmExtId: string): Promise<void>
  gateway(gatewayExtId: string): Promise<GatewayView | undefined>
}

export interface GatewayProgram {
  readonly extId: string
  readonly vmExtId: string
  /** The VPC whose router it serves; absent: it is on a VLAN. */
  readonly vpcExtId?: string
  readonly addresses: readonly string[]
  readonly service: GatewayService
  readonly dnsServers: readonly string[]
  readonly ntpServers: readonly string[]
}

export type GatewayService =
  | { readonly type: 'BGP'; readonly autonomousSystemNumber: number; readonly isMultipath: boolean }
  | {
      readonly type: 'VPN'
      readonly bgp?: {
        readonly autonomousSystemNumber?: number
        readonly password?: string
        readonly redistributesRoutes: boolean
      }
      readonly interior?: InteriorRouting
    }
  | {
      readonly type: 'VTEP'
      readonly port: number
      /** Takes over from, and leaves to, the other such gateways of its network. */
      readonly isHighlyAvailable?: boolean
      /** The VPC, or the subnet or VLAN of its interface. */
      readonly network?: string
    }

/** How the gateway speaks with the routers of its own site. */
export interface InteriorRouting {
  readonly ibgpPeers: readonly IbgpPeer[]
  readonly ospf?: {
    readonly areaId: string
    readonly authentication?: 'PLAIN_TEXT' | 'MD5'
    readonly password?: string
  }
}

export interface IbgpPeer {
  readonly address: string
  readonly autonomousSystemNumber?: number
  readonly password?: string
  /** Whether routes that the gateway learned over tunnels enter the interior network. */
  readonly redistributesRoutes: boolean
}

export interface GatewayView {
  readonly isUp: boolean
  /** Whether its appliance has no power. */
  readonly isOff: boolean
  readonly reason?: string
}
