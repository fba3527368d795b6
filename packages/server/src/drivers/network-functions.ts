import type { HealthCheck } from './load-balancing.ts'

/** Redirection of traffic through pairs of NICs of VMs. Idempotent; absent functions are no fault. Source: behaviour networking.md 1.15. */
export interface NetworkFunctions {
  /** Redirects traffic to the active pair, or changes the pairs. */
  programFunction(program: FunctionProgram): Promise<void>
  /** Starts, changes or (undefined) stops the probes. */
  probeFunction(functionExtId: string, check: HealthCheck | undefined): Promise<void>
  removeFunction(functionExtId: string): Promise<void>
  networkFunction(functionExtId: string): Promise<FunctionView | undefined>
}

export interface FunctionProgram {
  readonly extId: string
  /** VTAP: the pair gets a copy, and nothing depends on its health. */
  readonly mode: 'INLINE' | 'VTAP'
  /** Whether traffic passes while no pair is healthy; else it is dropped. */
  readonly failsOpen: boolean
  readonly pairs: readonly FunctionPair[]
}

export interface FunctionPair {
  readonly vmExtId: string
  readonly ingressNicExtId: string
  readonly egressNicExtId?: string
  readonly isEnabled: boolean
}

export interface FunctionView {
  readonly pairs: readonly { readonly ingressNicExtId: string; readonly isHealthy: boolean }[]
  /** Ingress NIC of the pair that gets the traffic. Absent: no pair is enabled. */
  readonly activeNicExtId?: string
  /** Current treatment of packets that match a redirection. */
  readonly forwarding: 'REDIRECTED' | 'PASSED' | 'DROPPED'
}
