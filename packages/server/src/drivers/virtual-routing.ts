import type { ValueOf } from '@hyperplane/contract'
import type { RoutingPolicyRule } from '@hyperplane/contract/networking/routing-policy'

/**
 * VPCs in the network: their controller, routers and routing policies. A part of `NetworkFabric`: calls may be
 * repeated, and resolve once the configuration is held.
 * Source: behaviour networking.md 1.5, 1.6, 1.7, 1.20, 3.1.
 */
export interface VirtualRouting {
  /** Starts the controller, or applies these settings to it. */
  deployController(controller: ControllerProgram): Promise<void>
  /** Installs the controller's agent on a host. */
  installAgent(controllerExtId: string, hostExtId: string): Promise<void>
  /** Removes the agents from all hosts. */
  removeAgents(controllerExtId: string): Promise<void>
  removeController(controllerExtId: string): Promise<void>
  /** State of the controller; `DOWN` also when there is none. Reads only. */
  controllerState(controllerExtId: string): Promise<ControllerState>

  /** Creates the router of a VPC, or applies these settings to it. */
  programRouter(router: RouterProgram): Promise<void>
  /** Removes the router with its ports; an absent one is no fault. */
  removeRouter(vpcExtId: string): Promise<void>
  /** Attaches the router to an external subnet, or changes the addresses and hosts of its ports there. */
  attachRouter(vpcExtId: string, port: RouterPort): Promise<void>
  detachRouter(vpcExtId: string, subnetExtId: string): Promise<void>
  /** Sets the source addresses of packets that leave through a subnet with NAT; an empty list disables that. */
  translateSources(vpcExtId: string, addresses: readonly string[]): Promise<void>

  /** Replaces the rules of a policy on all hosts at once; counters of changed rules start at zero. */
  installPolicy(policy: PolicyProgram): Promise<void>
  /** A policy that is not there is no fault. */
  removePolicy(policyExtId: string): Promise<void>
  /** Resets the counters of these policies at one instant. */
  clearPolicyCounters(policyExtIds: readonly string[]): Promise<void>

  /** Translates a floating IP to its private address, in place of the one before. */
  programFloatingIp(floatingIp: FloatingIpProgram): Promise<void>
  /** Sends gratuitous ARP, so that neighbours on the external subnet reach the address through its router. */
  announceFloatingIp(floatingIpExtId: string): Promise<void>
  /** A floating IP that is not translated is no fault. */
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
  /** CIDR texts that are routed to and from outside as they are. */
  readonly externallyRoutablePrefixes: readonly string[]
  /** Name servers for subnets of the VPC without their own. */
  readonly domainNameServers: readonly string[]
}

export interface RouterPort {
  readonly subnetExtId: string
  readonly addresses: readonly string[]
  /** Hosts that carry it now. */
  readonly gatewayHostExtIds: readonly string[]
}

export interface PolicyProgram {
  readonly extId: string
  readonly vpcExtId: string
  /** The matching policy of the highest priority applies. */
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
