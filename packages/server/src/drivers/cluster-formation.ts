/** The beginning and the end of clusters. Source: behaviour clustermgmt.md 1.2. */
import type { NodeHypervisor } from './nodes.ts'

export interface NewCluster {
  readonly extId: string
  readonly name: string
  readonly hypervisorType: NodeHypervisor['type']
  readonly version: string
  /** IPv4 address that managers use. */
  readonly address: string
  /** Addresses of up to three controller VMs. */
  readonly nodeAddresses: readonly string[]
  readonly managerExtId: string
}

/** Promises reject as those of `Hardware`. */
export interface ClusterFormation {
  /** Starts the services of a new cluster, which trusts its manager from then on. A repeated call changes nothing. */
  formCluster(cluster: NewCluster): Promise<{
    /** SHA-256, in hex. */
    readonly certificate: string
  }>
  /** The cluster loses everything that it stored, except its nodes. Resolves also for an unknown cluster. */
  dissolveCluster(clusterExtId: string): Promise<void>
  /** The cluster works for the task `holder` only, until `startServices`. */
  stopServices(clusterExtId: string, holder: string): Promise<void>
  startServices(clusterExtId: string): Promise<void>
  /** The task that stopped the services, from memory; undefined: they run. */
  servicesStoppedBy(clusterExtId: string): string | undefined
}
