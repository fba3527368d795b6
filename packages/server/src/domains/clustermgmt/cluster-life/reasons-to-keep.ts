/** Obstacles to destroying a cluster. Source: behaviour clustermgmt.md 1.2 (state × action). */
import type { AnyResource } from '@hyperplane/contract'
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { Task } from '@hyperplane/contract/platform/task'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Ova } from '@hyperplane/contract/vmm/content/ova'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { ApiError } from '../../../core/api-error.ts'
import { pathOf } from '../../../core/standard.ts'
import { and, anyOf, equals } from '../../../odata/index.ts'
import type { Reader } from '../../../store/store.ts'
import { isManager } from '../../containers/storage-containers.ts'
import { usersOutsideCluster } from '../../registrations/cluster-users.ts'

/** By the path of their cluster. */
const guests: readonly (readonly [AnyResource, string, string])[] = [
  [Vm, 'cluster/extId', 'VMs'],
  [ExternVm, 'cluster/extId', 'external VMs'],
  [VolumeGroup, 'clusterReference', 'volume groups'],
  [Image, 'clusterLocationExtIds', 'images'],
  [Ova, 'clusterLocationExtIds', 'OVAs'],
  [VmRecoveryPoint, 'clusterExtId', 'recovery points'],
]

export async function reasonsToKeep(store: Reader, cluster: Cluster): Promise<ApiError[]> {
  const { extId, name } = cluster
  const managers = await store.find(DomainManager)
  if (isManager(cluster) || managers.some(({ hostingClusterExtId }) => hostingClusterExtId === extId))
    return [new ApiError('CLUSTER_HOSTS_MANAGER', { name })]
  const counts = new Map<AnyResource, number>()
  for (const [kind, path] of guests) {
    const count = await store.count(kind, { filter: equals(pathOf(kind, path), extId) })
    if (count > 0) counts.set(kind, count)
  }
  if (counts.size > 0) {
    const users = guests.flatMap(([kind, , plural]) => (counts.has(kind) ? `${counts.get(kind)} ${plural}` : []))
    const extra = Object.fromEntries([...counts].map(([{ kind }, count]) => [kind, String(count)]))
    return [new ApiError('CLUSTER_NOT_EMPTY', { name, users: users.join(', ') }, { extra })]
  }
  const users = await usersOutsideCluster(store, extId)
  return users.length === 0 ? [] : [new ApiError('ENTITY_IN_USE', { kind: 'cluster', name, users: users.join('; ') })]
}

const unfinished = ['QUEUED', 'RUNNING', 'CANCELING', 'SUSPENDED']

export async function unfinishedTasks(store: Reader, { extId, name }: Cluster, own: string): Promise<ApiError[]> {
  const filter = and(anyOf(pathOf(Task, 'status'), unfinished), equals(pathOf(Task, 'clusterExtIds'), extId))
  const tasks = (await store.find(Task, { filter })).filter(
    (task) => task.extId !== own && task.isBackgroundTask !== true,
  )
  return tasks.map((task) => new ApiError('CLUSTER_BUSY', { name, taskExtId: task.extId }))
}
