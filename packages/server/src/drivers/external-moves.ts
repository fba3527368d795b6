/** Calls to an external management (vCenter) during the maintenance of a host. Source: behaviour clustermgmt.md 1.4. */

export interface ManagementAccess {
  readonly address: string
  readonly port: number
  readonly username: string
  readonly password: string
}

export interface ExternalMoves {
  /** `silent`: nothing answers at the address, or not the management of this cluster. */
  signIn(clusterExtId: string, access: ManagementAccess): Promise<'accepted' | 'refused' | 'silent'>
  /**
   * Moves the VM to another host of its cluster while it runs. A VM that is there already is no fault.
   * @throws DriverError, final, after 30 s without an answer, or when the VM or the host is not there
   */
  moveVm(vmExtId: string, hostExtId: string): Promise<void>
}
