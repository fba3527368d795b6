/** The lock of the hosts and drives of a cluster. Source: behaviour clustermgmt.md 1.1 (topology lock). */
import { arrayOf, boolean, optional, resource, uuid } from '@hyperplane/contract'
import { Task } from '@hyperplane/contract/platform/task'
import type { Reader } from '../../store/store.ts'

/** Has the id of the cluster. Ended tasks hold nothing, so that none needs to release the lock. */
export const TopologyLock = resource('internal.v1.clustermgmt.TopologyLock', {
  fields: {
    taskExtIds: arrayOf(uuid()),
    /** Tasks that change the same host share the lock. */
    sharedByHostExtId: optional(uuid()),
    /** The cluster is being destroyed: no other change is possible. */
    isDestruction: optional(boolean()),
  },
  ofCluster: { by: 'extId' },
})

/** @param sharedByHostExtId tasks that change this host alone do not count */
export async function lockHolder(
  store: Reader,
  clusterExtId: string,
  sharedByHostExtId?: string,
): Promise<string | undefined> {
  const held = await store.get(TopologyLock, clusterExtId)
  if (held === undefined) return undefined
  if (sharedByHostExtId !== undefined && held.sharedByHostExtId === sharedByHostExtId) return undefined
  return (await runningOf(store, held.taskExtIds))[0]
}

const ended: ReadonlySet<unknown> = new Set(['SUCCEEDED', 'FAILED', 'CANCELED'])

export async function runningOf(store: Reader, taskExtIds: readonly string[]): Promise<string[]> {
  const tasks = await store.getMany(Task, taskExtIds)
  return tasks.filter(({ status }) => !ended.has(status)).map(({ extId }) => extId)
}
