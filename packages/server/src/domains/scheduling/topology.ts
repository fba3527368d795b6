/** One change of the hosts or drives of a cluster at a time. Source: behaviour clustermgmt.md 1.1 (topology lock). */
import { ApiError } from '../../core/api-error.ts'
import type { Reader, Transaction } from '../../store/store.ts'
import { lockHolder, runningOf, TopologyLock } from '../storage-space/topology-lock.ts'
import { HostMaintenance } from './host-maintenance.ts'

interface Sharing {
  /** Removals of drives of one host run together. */
  readonly sharedByHostExtId?: string
  /** The maintenance of another host has rules of its own. */
  readonly besideMaintenance?: true
  readonly isDestruction?: true
}

/** @throws ApiError 409 CLUSTER_BUSY, naming the task that changes the cluster */
export async function requireIdleTopology(
  store: Reader,
  cluster: { readonly extId: string; readonly name: string },
  sharing: Sharing = {},
): Promise<void> {
  const taskExtId =
    (await lockHolder(store, cluster.extId, sharing.sharedByHostExtId)) ??
    (await maintainer(store, cluster.extId, sharing))
  if (taskExtId !== undefined) throw new ApiError('CLUSTER_BUSY', { name: cluster.name, taskExtId })
}

/** For changes that may run beside those of the topology. @throws ApiError 409 CLUSTER_BUSY */
export async function requireNotDestroyed(
  store: Reader,
  { extId, name }: { readonly extId: string; readonly name: string },
): Promise<void> {
  const held = await store.get(TopologyLock, extId)
  const [taskExtId] = held?.isDestruction === true ? await runningOf(store, held.taskExtIds) : []
  if (taskExtId !== undefined) throw new ApiError('CLUSTER_BUSY', { name, taskExtId })
}

/** In the transaction that starts the task, after `requireIdleTopology`. */
export async function lockTopology(
  store: Transaction,
  clusterExtId: string,
  taskExtId: string,
  { sharedByHostExtId, isDestruction }: Sharing = {},
): Promise<void> {
  const held = await store.get(TopologyLock, clusterExtId)
  const taskExtIds = [...(await runningOf(store, held?.taskExtIds ?? [])), taskExtId]
  const lock = {
    extId: clusterExtId,
    taskExtIds,
    ...(sharedByHostExtId && { sharedByHostExtId }),
    ...(isDestruction && { isDestruction }),
  }
  if (held === undefined) await store.insert(TopologyLock, lock)
  else await store.replace(TopologyLock, lock)
}

async function maintainer(
  store: Reader,
  clusterExtId: string,
  { besideMaintenance }: Sharing,
): Promise<string | undefined> {
  if (besideMaintenance === true) return undefined
  const maintenances = await store.findWhere(HostMaintenance, { clusterExtId })
  return maintenances.find(({ taskExtId }) => taskExtId !== undefined)?.taskExtId
}
