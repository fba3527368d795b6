/** Admission of requests to add nodes and to remove them. Source: behaviour clustermgmt.md 1.1, 1.3. */
import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { clusterExpansionOperations } from '@hyperplane/contract/clustermgmt/cluster-expansion'
import { implement } from '../../context.ts'
import { lockOf } from '../../scheduling/switch-bridges.ts'
import { lockTopology, requireIdleTopology } from '../../scheduling/topology.ts'
import { requireNodeCluster } from '../topology/nodes.ts'
import { requireUnreserved, reserveNodes } from '../topology/reservations.ts'
import { checkExpansion, expandCluster } from './expand.ts'
import { expansionFaults, expansionOf } from './expansion.ts'
import { joinNode } from './join-node.ts'

export const clusterExpansion = implement(
  clusterExpansionOperations,
  {
    async expandCluster(ctx, { body }) {
      const cluster = ctx.target
      requireNodeCluster(ctx, cluster, 'Expand Cluster')
      const discovered = ctx.drivers.hardware.unconfiguredNodes(Number.POSITIVE_INFINITY)
      const expansion = await expansionOf(ctx, cluster, body, discovered)
      const nodeUuids = expansion.nodes.map(({ nodeUuid }) => nodeUuid)
      await requireIdleTopology(ctx.store, cluster)
      await requireUnreserved(ctx.store, nodeUuids)
      const definition = body.shouldSkipAddNode === true ? checkExpansion : expandCluster
      const task = await ctx.startTask(definition, expansion, topologyTask('Expand Cluster', cluster))
      await lockTopology(ctx.store, cluster.extId, task.extId)
      await reserveNodes(ctx.store, nodeUuids, task.extId, cluster.extId)
      return task
    },
  },
  {
    rules: { expandCluster: ({ body }) => expansionFaults(body) },
    tasks: [checkExpansion, expandCluster, joinNode],
  },
)

/** Waits for tasks that change the cluster, its switches or its hosts, and lets later ones wait. */
const topologyTask = (operation: string, { extId, name }: EntityOf<typeof Cluster>) => ({
  operation,
  affected: [{ extId, name, rel: Cluster.rel as string }],
  clusterExtIds: [extId],
  locks: [extId, lockOf(extId)],
})
