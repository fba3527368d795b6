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
  /** Live; a VM that is there already is no fault. @throws DriverError, final: no answer for 30 s, or VM or host is not there */
  moveVm(vmExtId: string, hostExtId: string): Promise<void>
}
