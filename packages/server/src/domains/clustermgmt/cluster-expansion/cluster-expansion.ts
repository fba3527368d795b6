/** Admission of requests to add nodes and to remove them. Source: behaviour clustermgmt.md 1.1, 1.3. */
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { clusterExpansionOperations } from '@hyperplane/contract/clustermgmt/cluster-expansion'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { ApiError, refuseAll } from '../../../core/api-error.ts'
import { notFound } from '../../../core/standard.ts'
import { affected, implement, type WriteContext } from '../../context.ts'
import { lockTopology, requireIdleTopology } from '../../scheduling/topology.ts'
import { topologyTask } from '../cluster-task.ts'
import { requireNodeCluster } from '../topology/nodes.ts'
import { requireUnreserved, reserveNodes } from '../topology/reservations.ts'
import { checkExpansion, expandCluster } from './expand.ts'
import { expansionFaults, expansionOf } from './expansion.ts'
import { joinNode } from './join-node.ts'
import { nodeIdsOf } from './join-nodes.ts'
import { checkNodeRemoval, removeNodes } from './remove.ts'

export const clusterExpansion = implement(
  clusterExpansionOperations,
  {
    async expandCluster(ctx, { body }) {
      const cluster = ctx.target
      requireNodeCluster(ctx, cluster, 'Expand Cluster')
      const discovered = ctx.drivers.hardware.unconfiguredNodes(Number.POSITIVE_INFINITY)
      const expansion = await expansionOf(ctx, cluster, body, discovered)
      const nodeUuids = nodeIdsOf(expansion.nodes)
      await requireIdleTopology(ctx.store, cluster)
      await requireUnreserved(ctx.store, nodeUuids)
      const definition = body.shouldSkipAddNode === true ? checkExpansion : expandCluster
      const task = await ctx.startTask(definition, expansion, topologyTask('Expand Cluster', cluster))
      await lockTopology(ctx.store, cluster.extId, task.extId)
      await reserveNodes(ctx.store, nodeUuids, task.extId, cluster.extId)
      return task
    },

    async removeNode(ctx, { body }) {
      const cluster = ctx.target
      requireNodeCluster(ctx, cluster, 'Remove Node')
      const hosts = await leavingHosts(ctx, cluster, body.nodeUuids)
      await requireIdleTopology(ctx.store, cluster)
      await requireNoBoundContainer(ctx, cluster, hosts)
      const removal = {
        clusterExtId: cluster.extId,
        hostExtIds: hosts.map(({ extId }) => extId),
        skipsChecks: body.shouldSkipPrechecks === true,
        skips: body.extraParams ?? {},
      }
      const definition = body.shouldSkipRemove === true ? checkNodeRemoval : removeNodes
      const options = topologyTask('Remove Node', cluster)
      const leaving = hosts.map(({ extId, hostName: name }) => affected(Host, { extId, name }))
      const task = await ctx.startTask(definition, removal, {
        ...options,
        affected: [...options.affected, ...leaving],
      })
      await lockTopology(ctx.store, cluster.extId, task.extId)
      return task
    },
  },
  {
    rules: { expandCluster: ({ body }) => expansionFaults(body) },
    tasks: [checkExpansion, checkNodeRemoval, expandCluster, joinNode, removeNodes],
  },
)

/** @throws ApiError 404 for each id that is not of a host of the cluster */
async function leavingHosts(
  { store }: Pick<WriteContext, 'store'>,
  cluster: Cluster,
  nodeUuids: readonly string[],
): Promise<Host[]> {
  const ids = nodeUuids.map((nodeUuid) => nodeUuid.toLowerCase())
  const hosts = (await store.getMany(Host, ids)).filter((host) => host.cluster.uuid === cluster.extId)
  refuseAll(
    ids.flatMap((extId, index) =>
      hosts.some((host) => host.extId === extId) ? [] : [notFound(Host, extId, `nodeUuids[${index}]`)],
    ),
  )
  return hosts
}

/** @throws ApiError 409: the data of such a container is on its host only */
async function requireNoBoundContainer(
  { store }: Pick<WriteContext, 'store'>,
  cluster: Cluster,
  hosts: readonly Host[],
): Promise<void> {
  const containers = await store.findWhere(StorageContainer, { clusterExtId: cluster.extId })
  for (const { extId, hostName: name } of hosts) {
    const bound = containers.find(({ affinityHostExtId }) => affinityHostExtId === extId)
    if (bound !== undefined)
      throw new ApiError('ENTITY_IN_USE', { kind: 'host', name, users: `the storage container "${bound.name}"` })
  }
}
