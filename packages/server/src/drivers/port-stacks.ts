/** The stack of a NIC's port: that of its subnet, except while the subnet migrates. Idempotent. Source: behaviour networking.md 1.4. */
export interface PortStacks {
  /** Ahead of its subnet; the guest keeps its addresses. @throws DriverError, retryable, when the agent of the host does not answer */
  movePort(port: PortProgram): Promise<void>
  /** New ports, and all ports that have not moved yet, are on this stack from now on. */
  switchStack(subnetExtId: string, isAdvanced: boolean): Promise<void>
}

export interface PortProgram {
  readonly nicExtId: string
  readonly subnetExtId: string
  readonly hostExtId?: string
  readonly isAdvanced: boolean
}
