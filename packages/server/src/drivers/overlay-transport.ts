/** The switch for encapsulated traffic of VPCs between hosts; default: that of the cluster. Idempotent. Source: networking.md 1.20. */
export interface OverlayTransport {
  /** @throws DriverError, retryable, when a host's agent or the network controller does not answer */
  carryOverlay(program: OverlayProgram): Promise<void>
  /** Returns to the default switch; resolves also without a program. */
  carryOverlayByDefault(clusterExtId: string): Promise<void>
  overlayOf(clusterExtId: string): Promise<OverlayProgram | undefined>
}

export interface OverlayProgram {
  readonly clusterExtId: string
  readonly virtualSwitchExtId: string
  readonly hostExtIds: readonly string[]
  /** False: the switch carries no VLANs beside the VPCs. */
  readonly isAllTrafficPermitted: boolean
}
