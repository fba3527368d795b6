import type { ValueOf } from '@hyperplane/contract'
import type { RoutingPolicyRule } from '@hyperplane/contract/networking/routing-policy'

/**
 * What the control plane asks of VPCs in the network: the controller that carries them, their routers, and what these do
 * with packets. A part of `NetworkFabric`: calls may be repeated, and resolve once the configuration is held.
 * Source: behaviour networking.md 1.5, 1.6, 1.7, 1.20, 3.1.
 */
export interface VirtualRouting {
  /** Starts the services of the controller, or brings them to these settings. */
  deployController(controller: ControllerProgram): Promise<void>
  /** Puts its agent on a host. */
  installAgent(controllerExtId: string, hostExtId: string): Promise<void>
  /** Takes the agents from their hosts. */
  removeAgents(controllerExtId: string): Promise<void>
  removeController(controllerExtId: string): Promise<void>
  /** What the controller says of itself; `DOWN` also when there is none. Reads only. */
  controllerState(controllerExtId: string): Promise<ControllerState>

  /** Makes the router of a VPC, or brings it to these settings. */
  programRouter(router: RouterProgram): Promise<void>
  /** With its ports and everything else that is a part of it. A router that is not there is no fault. */
  removeRouter(vpcExtId: string): Promise<void>
  /** Gives the router ports on an external subnet, or brings those to these settings: other addresses, other hosts. */
  attachRouter(vpcExtId: string, port: RouterPort): Promise<void>
  detachRouter(vpcExtId: string, subnetExtId: string): Promise<void>
  /** Packets that leave through a translating subnet get one of these addresses from now on; of no address: none do. */
  translateSources(vpcExtId: string, addresses: readonly string[]): Promise<void>

  /** Installs the rules of a policy in place of those that it had, on all hosts at once; rules that differ count from zero. */
  installPolicy(policy: PolicyProgram): Promise<void>
  /** A policy that is not there is no fault. */
  removePolicy(policyExtId: string): Promise<void>
  /** The counters of these policies are zero, all at one instant. */
  clearPolicyCounters(policyExtIds: readonly string[]): Promise<void>
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
  /** What the subnets of the VPC hand out that name no servers of their own. */
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
  /** Of those that match, the highest decides. */
  readonly priority: number
  readonly rule: ValueOf<typeof RoutingPolicyRule>
}
