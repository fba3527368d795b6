/** Layer-4 load balancers of VPCs. Calls are idempotent; absent balancers are no fault. Source: behaviour networking.md 1.14. */
export interface LoadBalancing {
  /** Creates the balancer without checks, or changes its listener and targets. */
  programBalancer(balancer: BalancerProgram): Promise<void>
  /** Changes the targets of a balancer that is there. */
  retargetBalancer(sessionExtId: string, targets: readonly BalancerTarget[]): Promise<void>
  /** Starts or changes the checks: only targets that passed them get traffic. */
  checkTargets(sessionExtId: string, check: HealthCheck): Promise<void>
  removeBalancer(sessionExtId: string): Promise<void>
  balancer(sessionExtId: string): Promise<BalancerView | undefined>
}

export interface BalancerProgram {
  readonly extId: string
  readonly vpcExtId: string
  readonly subnetExtId: string
  readonly address: string
  readonly protocol: string
  readonly portRanges: readonly { readonly startPort: number; readonly endPort: number }[]
  /** Each pair of NIC and port once. */
  readonly targets: readonly BalancerTarget[]
}

export interface BalancerTarget {
  readonly nicExtId: string
  readonly vmExtId: string
  readonly port: number
}

export interface HealthCheck {
  readonly intervalSeconds: number
  readonly timeoutSeconds: number
  readonly successThreshold: number
  readonly failureThreshold: number
}

export interface BalancerView {
  readonly targets: readonly (BalancerTarget & { readonly isHealthy: boolean })[]
}
