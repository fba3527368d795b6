/** Passwords of accounts on clusters, hosts and BMCs. Source: behaviour clustermgmt.md 1.14. */
export interface BmcLogin {
  readonly hostExtId: string
  readonly address: string
  readonly username: string
  readonly password: string
}

export interface SystemAccountAccess {
  readonly extId: string
  readonly clusterExtId: string
  readonly hostExtId?: string
  readonly bmc?: BmcLogin
}

/** Errors as of `Hardware`. */
export interface SystemAccounts {
  /** Repeated calls with one `callKey` change the password once. */
  changePassword(account: SystemAccountAccess, password: string, callKey: string): Promise<void>
  /** The previous password is valid again; resolves at once if the call never took effect. */
  takeBackPassword(account: SystemAccountAccess, callKey: string): Promise<void>
}
