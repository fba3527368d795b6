/** A cluster ends, and its nodes can be discovered again. Source: behaviour clustermgmt.md 1.2 (deleteClusterById). */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Registration } from '@hyperplane/contract/platform/registration'
import { refuseAll } from '../../../core/api-error.ts'
import { rowWithId } from '../../../core/standard.ts'
import { defineTask, type WriteContext } from '../../context.ts'
import { removeInventory, rowsOfCluster } from '../../registrations/cluster-inventory.ts'
import { requireReachable } from '../../registrations/reachability.ts'
import { registrationIdOf } from '../../registrations/registrations.ts'
import { lockTopology, requireIdleTopology } from '../../scheduling/topology.ts'
import { hostsOf } from '../../storage-space/capacity.ts'
import { topologyTask } from '../cluster-task.ts'
import { reasonsToKeep, unfinishedTasks } from './reasons-to-keep.ts'

interface Destruction {
  readonly clusterExtId: string
}

export const destroyCluster = defineTask<Destruction>({
  name: 'clustermgmt.destroy-cluster',
  pointOfNoReturn: 'wipe disks',
  steps: [
    {
      name: 'check empty',
      progress: 5,
      run: async ({ store }, { clusterExtId }) =>
        refuseAll(await reasonsToKeep(store, await rowWithId(store, Cluster, clusterExtId))),
    },
    {
      name: 'stop services',
      progress: 30,
      seconds: [45, 90],
      run: ({ drivers, taskExtId }, { clusterExtId }) => drivers.hardware.stopServices(clusterExtId, taskExtId),
      undo: ({ drivers }, { clusterExtId }) => drivers.hardware.startServices(clusterExtId),
      record: async ({ store, taskExtId }, { clusterExtId }) => {
        // Requests that were accepted before the services stopped may have changed the cluster since the check.
        const cluster = await rowWithId(store, Cluster, clusterExtId)
        refuseAll([...(await reasonsToKeep(store, cluster)), ...(await unfinishedTasks(store, cluster, taskExtId))])
      },
    },
    {
      name: 'wipe disks',
      progress: 80,
      seconds: [90, 180],
      run: async ({ store, drivers }, { clusterExtId }) => {
        for (const { extId } of await store.findWhere(Subnet, { clusterReference: clusterExtId }))
          await drivers.networkFabric.removeSubnet(extId)
        for (const { extId } of await hostsOf(store, clusterExtId))
          await drivers.hardware.unpoolDrivesOf(clusterExtId, extId)
      },
    },
    {
      name: 'release nodes',
      progress: 95,
      seconds: [45, 90],
      run: async ({ store, drivers }, { clusterExtId }) => {
        for (const { extId } of await hostsOf(store, clusterExtId)) await drivers.hardware.detachNode(extId)
      },
    },
    {
      name: 'remove record',
      run: ({ drivers }, { clusterExtId }) => drivers.hardware.dissolveCluster(clusterExtId),
      record: async ({ store }, { clusterExtId }) => {
        await removeInventory(store, clusterExtId)
        const registration = registrationIdOf(clusterExtId)
        if (await store.has(Registration, registration)) await store.remove(Registration, registration)
      },
    },
  ],
  plan: async ({ store }, { clusterExtId }) => {
    const counts = new Map<string, number>()
    for (const { part } of await rowsOfCluster(store, clusterExtId))
      counts.set(part.resource.kind, (counts.get(part.resource.kind) ?? 0) + 1)
    const problems = await reasonsToKeep(store, await rowWithId(store, Cluster, clusterExtId))
    return {
      changes: [...counts].map(([kind, count]) => ({ attribute: kind, from: String(count), to: '0' })),
      problems: problems.map(({ appMessage }) => appMessage),
    }
  },
})

export async function startDestruction(ctx: WriteContext, cluster: Cluster): Promise<{ readonly extId: string }> {
  const { extId } = cluster
  if (!ctx.dryRun) {
    refuseAll(await reasonsToKeep(ctx.store, cluster))
    await requireIdleTopology(ctx.store, cluster)
  }
  requireReachable(ctx, cluster)
  const task = await ctx.startTask(destroyCluster, { clusterExtId: extId }, topologyTask('Destroy Cluster', cluster))
  if (!ctx.dryRun) await lockTopology(ctx.store, extId, task.extId, { isDestruction: true })
  return task
}
