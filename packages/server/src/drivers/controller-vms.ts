/** The controller VM of each host, which serves its storage. Source: behaviour clustermgmt.md 1.6. */

export interface ControllerVmSize {
  readonly numVcpus: number
  readonly memorySizeBytes: number
}

export interface ControllerVm extends ControllerVmSize {
  readonly isRunning: boolean
}

/** Calls are idempotent. Promises reject with a DriverError: retryable after 10 s without an answer. */
export interface ControllerVms {
  /** From memory, as of the last heartbeat. */
  controllerVm(hostExtId: string): ControllerVm
  /** Resolves when it has shut down; other hosts serve its storage from then on. */
  stopControllerVm(clusterExtId: string, hostExtId: string): Promise<void>
  /** It must be stopped, unless it has the size already. */
  resizeControllerVm(clusterExtId: string, hostExtId: string, size: ControllerVmSize): Promise<void>
  /** Resolves when its services are healthy. */
  startControllerVm(clusterExtId: string, hostExtId: string): Promise<void>
}
