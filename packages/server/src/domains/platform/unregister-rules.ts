/** Reasons why a registered cluster or manager cannot be unregistered. Source: behaviour platform.md 4 (unregister). */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { ClusterProfile } from '@hyperplane/contract/clustermgmt/cluster-profile'
import { Layer2Stretch } from '@hyperplane/contract/networking/layer2-stretch'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { Task } from '@hyperplane/contract/platform/task'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { pathOf } from '../../core/standard.ts'
import { and, anyOf, equals } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'
import { maximumNamed, titles, usersOutsideCluster } from '../registrations/cluster-users.ts'

const unfinished = ['QUEUED', 'RUNNING', 'CANCELING', 'SUSPENDED']
/** @param ownTask the task that checks, which is no reason itself */
export async function reasonsAgainstUnregistering(
  store: Reader,
  clusterExtId: string,
  ownTask?: string,
): Promise<string[]> {
  const cluster = await store.get(Cluster, clusterExtId)
  if (cluster === undefined) return []
  const reasons: string[] = []
  for (const { config, hostingClusterExtId } of await store.find(DomainManager))
    if (hostingClusterExtId === clusterExtId) reasons.push(`it hosts the manager "${config.name}"`)
  const backups = titles.get('BackupTarget')
  if (backups !== undefined && (await store.get(backups, clusterExtId)) !== undefined)
    reasons.push('it is a backup target of this manager')
  if (cluster.clusterProfileExtId !== undefined) {
    const profile = await store.get(ClusterProfile, cluster.clusterProfileExtId)
    reasons.push(`it is a member of the cluster profile "${profile?.name ?? cluster.clusterProfileExtId}"`)
  }
  reasons.push(...(await usersOutsideCluster(store, clusterExtId)), ...(await overlayVms(store, clusterExtId)))
  const filter = and(anyOf(pathOf(Task, 'status'), unfinished), equals(pathOf(Task, 'clusterExtIds'), clusterExtId))
  const running = (await store.find(Task, { filter })).filter(({ extId }) => extId !== ownTask)
  if (running.length > 0) reasons.push(`tasks of it are not finished: ${running.length}`)
  return reasons
}

export const reasonsAgainstLosingManager = async (store: Reader, managerExtId: string): Promise<string[]> =>
  (await store.find(Layer2Stretch))
    .filter(({ remoteSiteParams }) => remoteSiteParams.pcClusterReference === managerExtId)
    .slice(0, maximumNamed)
    .map(({ name }) => `the layer-2 stretch "${name}" ends there`)

async function overlayVms(store: Reader, clusterExtId: string): Promise<string[]> {
  const vms = await store.find(Vm, { filter: equals(pathOf(Vm, 'cluster/extId'), clusterExtId) })
  const subnets = new Map<string, boolean>()
  const isOutside = async (extId: string): Promise<boolean> => {
    const subnet = subnets.get(extId)
    if (subnet !== undefined) return subnet
    const outside = (await store.get(Subnet, extId))?.clusterReference !== clusterExtId
    subnets.set(extId, outside)
    return outside
  }
  const names: string[] = []
  for (const { name, nics = [] } of vms) {
    const ids = nics.flatMap(({ networkInfo }) => networkInfo?.subnet?.extId ?? [])
    for (const id of ids) if (await isOutside(id)) names.push(name)
  }
  const distinct = [...new Set(names)]
  return distinct.length === 0
    ? []
    : [`VMs of it are in networks of several clusters: ${distinct.slice(0, maximumNamed).join(', ')}`]
}
