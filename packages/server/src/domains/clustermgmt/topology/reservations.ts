/** One task at a time may use a node. Source: behaviour clustermgmt.md 1.3. */
import { optional, resource, uuid } from '@hyperplane/contract'
import { ApiError } from '../../../core/api-error.ts'
import type { Reader, Transaction } from '../../../store/store.ts'

/** Has the id of the node; from the request that adds it to a cluster until its task has ended. */
export const NodeReservation = resource('internal.v1.clustermgmt.NodeReservation', {
  fields: {
    taskExtId: uuid(),
    /** Absent: the cluster is being created. */
    clusterExtId: optional(uuid()),
  },
  indexed: ['clusterExtId', 'taskExtId'],
  ofCluster: { stays: 'the node is in no cluster yet' },
})

/** @throws ApiError 409 naming the task that has reserved one of the nodes */
export async function requireUnreserved(store: Reader, nodeUuids: readonly string[]): Promise<void> {
  const [held] = await store.getMany(NodeReservation, nodeUuids)
  if (held !== undefined)
    throw new ApiError('ENTITY_BUSY', { kind: 'node', name: held.extId, taskExtId: held.taskExtId })
}

export async function reserveNodes(
  store: Transaction,
  nodeUuids: readonly string[],
  taskExtId: string,
  clusterExtId?: string,
): Promise<void> {
  for (const extId of nodeUuids)
    await store.insert(NodeReservation, { extId, taskExtId, ...(clusterExtId && { clusterExtId }) })
}

export async function releaseNodesOfTask(store: Transaction, taskExtId: string): Promise<void> {
  for (const { extId } of await store.findWhere(NodeReservation, { taskExtId }))
    await store.remove(NodeReservation, extId)
}
