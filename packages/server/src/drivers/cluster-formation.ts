/** The beginning and the end of clusters. Source: behaviour clustermgmt.md 1.2. */
import type { NodeHypervisor } from './nodes.ts'

export interface NewCluster {
  readonly extId: string
  readonly name: string
  readonly hypervisorType: NodeHypervisor['type']
  /** Version of the cluster software. */
  readonly version: string
  /** At which managers reach it; IPv4 text. */
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
  /** Forgets the cluster with all that it stored, except its nodes. Resolves also for an unknown cluster. */
  dissolveCluster(clusterExtId: string): Promise<void>
  /** From now on the cluster works for the task `holder` only. */
  stopServices(clusterExtId: string, holder: string): Promise<void>
  /** Resolves also when they run. */
  startServices(clusterExtId: string): Promise<void>
  /** The task that stopped the services, from memory; undefined: they run. */
  servicesStoppedBy(clusterExtId: string): string | undefined
}
