/**
 * Physical ports of hosts, and bridges over them; views come from memory, as of the last poll. Lists are ordered by slot or name.
 * Source: behaviour clustermgmt.md 1.5; networking.md 1.18, 1.19, 3.1.
 */
export interface HostNetworking {
  hostNics(hostExtId: string): readonly HostNicView[]
  bridges(hostExtId: string): readonly BridgeView[]
  /** Interfaces of the guests that run on the host. */
  taps(hostExtId: string): readonly TapView[]
  bonds(hostExtId: string): readonly BondView[]
  /**
   * Creates or changes the bridge; idempotent. @param pace `careful` waits until traffic flows again after a change of uplinks
   * @throws DriverError, retryable, when the host does not answer; final, when a NIC is missing or in another bridge
   */
  putBridge(bridge: BridgeProgram, pace: 'careful' | 'quick'): Promise<void>
  /** An absent bridge is no fault. @throws DriverError, retryable, when the host does not answer */
  removeBridge(bridge: NicOfHost): Promise<void>
  /**
   * Divides the NIC into as many virtual functions as its model has; idempotent.
   * @throws DriverError, final, for a NIC without virtual functions; retryable, when the host does not answer
   */
  enableVirtualFunctions(nic: NicOfHost, profileExtId: string): Promise<void>
  /** A NIC that is not divided is no fault. @throws DriverError, retryable, when the host does not answer */
  disableVirtualFunctions(nic: NicOfHost): Promise<void>
}

export interface NicOfHost {
  readonly hostExtId: string
  readonly name: string
}

export interface HostNicView {
  readonly extId: string
  readonly name: string
  readonly macAddress: string
  readonly isUp: boolean
  readonly model: NicModel
  /** From LLDP; absent: the host hears no switch, as always while the link is down. */
  readonly switchPort?: SwitchPort
  /** Present while virtual functions are enabled. */
  readonly virtualFunctions?: { readonly profileExtId: string; readonly count: number }
}

export interface NicModel {
  /** `15b3:1017`: vendor and device. */
  readonly pciModelId: string
  readonly description: string
  readonly speedMbps: number
  readonly driverVersion: string
  readonly firmwareVersion: string
  readonly capabilities: readonly string[]
  /** Virtual functions that it has when they are enabled. */
  readonly virtualFunctions: number
}

export interface SwitchPort {
  readonly extId: string
  readonly switchExtId: string
  readonly switchName: string
  readonly switchMacAddress: string
  readonly managementAddress: string
  readonly vendor: string
  readonly name: string
  readonly number: number
  readonly macAddress: string
  readonly vlan: number
  readonly mtu: number
}

export type BondMode = 'ACTIVE_BACKUP' | 'BALANCE_SLB' | 'BALANCE_TCP' | 'NONE'

export interface BridgeProgram {
  readonly hostExtId: string
  readonly name: string
  /** Absent: no virtual switch manages the bridge. */
  readonly virtualSwitchExtId?: string
  readonly uplinks: readonly string[]
  /** Preferred while it has a link. */
  readonly activeUplink?: string
  readonly bondMode: BondMode
  readonly mtu: number
  /** 0: untagged. */
  readonly vlan: number
  /** CIDR text of the host itself. */
  readonly address?: string
  readonly gateway?: string
  readonly multicast?: MulticastProgram
}

export interface MulticastProgram {
  readonly isSnooping: boolean
  readonly timeoutSeconds: number
  /** VLANs in which the host asks for members; absent: it does not ask. */
  readonly queriedVlans?: readonly number[]
}

export interface BridgeView extends BridgeProgram {
  readonly extId: string
  readonly macAddress: string
  readonly speedMbps: number
}

/** The uplinks of a bridge that has several. */
export interface BondView {
  readonly extId: string
  readonly name: string
  readonly bridge: string
  readonly virtualSwitchExtId?: string
  readonly mode: Exclude<BondMode, 'NONE'>
  readonly uplinks: readonly string[]
  /** The NICs that carry traffic: one, or all with a link. */
  readonly active: readonly string[]
  /** NIL: the mode does not use LACP. */
  readonly lacp: 'CONFIGURED' | 'NEGOTIATED' | 'NIL'
}

export interface TapView {
  readonly extId: string
  readonly name: string
  readonly macAddress: string
  readonly isUp: boolean
  /** Absent: the port is in an overlay, or not connected to a bridge. */
  readonly bridge?: string
  readonly vlan: number
}
