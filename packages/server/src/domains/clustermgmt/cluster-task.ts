import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { taskAbout } from '../context.ts'
import { lockOfSwitches } from '../scheduling/switch-bridges.ts'

interface Named {
  readonly extId: string
  readonly name: string
}

export const clusterTask = (operation: string, cluster: Named) => taskAbout(operation, Cluster, cluster, cluster.extId)

/** Waits for tasks that change the cluster, its switches or its hosts; later ones wait for this task. */
export const topologyTask = (operation: string, cluster: Named) => ({
  ...clusterTask(operation, cluster),
  locks: [cluster.extId, lockOfSwitches(cluster.extId)],
})
