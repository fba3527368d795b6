/** The extension of this manager in an external management. Source: behaviour clustermgmt.md 1.16. */

export interface ManagementLogin {
  readonly username: string
  readonly password: string
  readonly port: number
}

/** @throws DriverError, final, after 30 s without an answer, or when the management refuses the login */
export interface ManagementExtensions {
  /** Resolves also when the extension is registered. */
  registerExtension(clusterExtId: string, login: ManagementLogin): Promise<void>
  /** Resolves also when it is not registered. */
  unregisterExtension(clusterExtId: string, login: ManagementLogin): Promise<void>
}
