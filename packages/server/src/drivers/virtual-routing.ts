import type { ValueOf } from '@hyperplane/contract'
import type { RoutingPolicyRule } from '@hyperplane/contract/networking/routing-policy'
import type { LoadBalancing } from './load-balancing.ts'
import type { OverlayTransport } from './overlay-transport.ts'

/**
 * VPCs: controller, routers, routes, policies. Idempotent; resolve when stored. Absent things are no fault for removals.
 * Source: behaviour networking.md 1.5, 1.6, 1.7, 1.20, 3.1.
 */
export interface VirtualRouting extends LoadBalancing, OverlayTransport {
  deployController(controller: ControllerProgram): Promise<void>
  installAgent(controllerExtId: string, hostExtId: string): Promise<void>
  /** From all hosts. */
  removeAgents(controllerExtId: string): Promise<void>
  removeController(controllerExtId: string): Promise<void>
  /** `DOWN` also when there is no controller. */
  controllerState(controllerExtId: string): Promise<ControllerState>

  programRouter(router: RouterProgram): Promise<void>
  removeRouter(vpcExtId: string): Promise<void>
  /** To an external subnet; a repeated call changes addresses and hosts. */
  attachRouter(vpcExtId: string, port: RouterPort): Promise<void>
  detachRouter(vpcExtId: string, subnetExtId: string): Promise<void>
  /** Source NAT; an empty list disables it. */
  translateSources(vpcExtId: string, addresses: readonly string[]): Promise<void>

  /** A repeated call replaces destination and nexthop at once. */
  installRoute(route: RouteProgram): Promise<void>
  removeRoute(routeExtId: string): Promise<void>
  /** Every route that the router knows, forwarding or not; empty without a router. */
  routesOf(vpcExtId: string): Promise<readonly TableRoute[]>

  /** Atomic on all hosts; counters of changed rules start at zero. */
  installPolicy(policy: PolicyProgram): Promise<void>
  removePolicy(policyExtId: string): Promise<void>
  /** At one instant. */
  clearPolicyCounters(policyExtIds: readonly string[]): Promise<void>

  /** Replaces the previous private address. */
  programFloatingIp(floatingIp: FloatingIpProgram): Promise<void>
  /** Sends gratuitous ARP, so that neighbours on the external subnet use the new router. */
  announceFloatingIp(floatingIpExtId: string): Promise<void>
  removeFloatingIp(floatingIpExtId: string): Promise<void>
}

export type ControllerState = 'UP' | 'DEGRADED' | 'DOWN'

export interface ControllerProgram {
  readonly extId: string
  readonly defaultVlanStack: string
  readonly isOverlappingErpsEnabled: boolean
  readonly cloudSubstrate?: string
}

export interface RouterProgram {
  readonly vpcExtId: string
  /** CIDR texts that are routed without translation. */
  readonly externallyRoutablePrefixes: readonly string[]
  /** Name servers for subnets without their own. */
  readonly domainNameServers: readonly string[]
}

export interface RouterPort {
  readonly subnetExtId: string
  readonly addresses: readonly string[]
  /** Hosts that carry the port now. */
  readonly gatewayHostExtIds: readonly string[]
}

export interface RouteProgram {
  readonly extId: string
  readonly vpcExtId: string
  readonly prefix: string
  readonly nexthop: RouteNexthop
}

export interface RouteNexthop {
  /** The subnet through which packets leave the router; absent: the router finds the one that holds the address. */
  readonly subnetExtId?: string
  readonly address?: string
  /** VPN connection whose tunnel the packets enter. */
  readonly connectionExtId?: string
}

export interface TableRoute {
  readonly type: 'LOCAL' | 'STATIC' | 'DYNAMIC'
  /** Id of its cause: a subnet, a programmed route, a BGP session, or a VPN connection. */
  readonly sourceExtId: string
  readonly prefix: string
  readonly nexthop: RouteNexthop
  readonly priority: number
  /** Forwards packets: its nexthop works, and no better route has the same destination. */
  readonly isActive: boolean
}

export interface PolicyProgram {
  readonly extId: string
  readonly vpcExtId: string
  /** The matching policy with the highest priority applies. */
  readonly priority: number
  readonly rule: ValueOf<typeof RoutingPolicyRule>
}

export interface FloatingIpProgram {
  readonly extId: string
  readonly vpcExtId: string
  readonly externalSubnetExtId: string
  readonly address: string
  readonly privateAddress: string
}
