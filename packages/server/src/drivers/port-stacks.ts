/**
 * The stack that carries the port of a NIC: that of its subnet, except while the subnet migrates to the other one. Calls are
 * idempotent. Source: behaviour networking.md 1.4.
 */
export interface PortStacks {
  /**
   * Moves the port ahead of its subnet; the guest keeps its addresses.
   * @throws DriverError, retryable, when the agent of the host does not answer
   */
  movePort(port: PortProgram): Promise<void>
  /** All ports of the subnet that are left follow it, and new ones. */
  switchStack(subnetExtId: string, isAdvanced: boolean): Promise<void>
}

export interface PortProgram {
  readonly nicExtId: string
  readonly subnetExtId: string
  /** Absent: the VM is off. */
  readonly hostExtId?: string
  readonly isAdvanced: boolean
}
