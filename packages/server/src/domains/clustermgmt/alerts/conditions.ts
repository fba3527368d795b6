/** Present conditions for alerts. Source: behaviour clustermgmt.md 1.12, 3 (Capacity). */
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { formatTime } from '../../../core/time/clock.ts'
import type { Hardware } from '../../../drivers/hardware.ts'
import type { Reader } from '../../../store/store.ts'
import {
  type CapacityContext,
  containerFree,
  largestDisk,
  type PoolUsage,
  poolUsage,
  storagePoolOf,
} from '../../storage-space/capacity.ts'
import type { Alert } from './alert.ts'

/** `openedAt` is absent if only the time of its discovery is known. */
export type Condition = Omit<Alert, 'extId' | 'openedAt'> & { readonly openedAt?: string }

export const lowPercent = 10
/** Usage around the limit must not open and close an alert again and again. */
const recoveredPercent = 12

export async function failuresIn(
  store: Reader,
  hardware: Hardware,
  clusters: readonly Cluster[],
): Promise<Condition[]> {
  const judged = new Set(clusters.map(({ extId }) => extId))
  const hosts = (await store.find(Host)).filter(({ cluster }) => judged.has(cluster.uuid))
  return [
    ...hosts.flatMap((host) => failedDisksOf(host, hardware)),
    ...hosts.flatMap((host) => conditionsOf(host, hardware)),
    ...clusters.flatMap(driftOf),
  ]
}

function failedDisksOf(host: Host, hardware: Hardware): Condition[] {
  return hardware.drivesOf(host.extId).flatMap(({ extId, serialNumber, isInPool, fault }): Condition[] => {
    if (!isInPool || fault === undefined) return []
    return [
      {
        type: 'DISK_FAILED',
        clusterExtId: host.cluster.uuid,
        ...{ entityKind: 'Disk', entityExtId: extId, entityName: serialNumber },
        hostExtId: host.extId,
        text: `The disk ${serialNumber} of the host ${host.hostName} has failed.`,
        openedAt: formatTime(fault.since),
      },
    ]
  })
}

function conditionsOf({ extId, hostName, cluster }: Host, hardware: Hardware): Condition[] {
  const { isUp, isDegraded, silentSince } = hardware.conditionOf(extId)
  const about = {
    ...{ clusterExtId: cluster.uuid, hostExtId: extId },
    ...{ entityKind: 'Host', entityExtId: extId, entityName: hostName },
  }
  const since = silentSince === undefined ? {} : { openedAt: formatTime(silentSince) }
  if (!isUp) return [{ type: 'HOST_FAILED', ...about, text: `The host ${hostName} does not answer.`, ...since }]
  return isDegraded ? [{ type: 'HOST_DEGRADED', ...about, text: `The host ${hostName} works far too slowly.` }] : []
}

function driftOf({ extId, name, compliance }: Cluster): Condition[] {
  if (compliance?.isCompliant !== false) return []
  const about = { clusterExtId: extId, entityKind: 'Cluster', entityExtId: extId, entityName: name }
  const drifts = compliance.configDrifts.join(', ')
  return [{ type: 'PROFILE_DRIFT', ...about, text: `The cluster ${name} differs from its profile in ${drifts}.` }]
}

/** @param isOpen whether the entity has such an alert already */
export async function shortagesIn(
  ctx: CapacityContext,
  cluster: Cluster,
  isOpen: (type: Alert['type'], entityExtId: string) => boolean,
): Promise<Condition[]> {
  const pool = await poolUsage(ctx, cluster.extId)
  const isLow = (type: Alert['type'], entityExtId: string, free: number, capacity: number): boolean =>
    capacity > 0 && free * 100 < capacity * (isOpen(type, entityExtId) ? recoveredPercent : lowPercent)
  const found: Condition[] = []
  const poolExtId = storagePoolOf(cluster.extId)
  if (isLow('STORAGE_POOL_LOW', poolExtId, pool.freeBytes, pool.capacityBytes)) found.push(lowPool(cluster, poolExtId))
  for (const container of await ctx.store.findWhere(StorageContainer, { clusterExtId: cluster.extId }))
    if (isLow('STORAGE_CONTAINER_LOW', container.extId, ...spaceOf(pool, container)))
      found.push(lowContainer(cluster, container))
  return found
}

/** Free and total bytes of the container's own limit; without one, the alert of the pool says everything. */
function spaceOf(pool: PoolUsage, container: StorageContainer): [free: number, capacity: number] {
  if (container.logicalAdvertisedCapacityBytes === undefined) return [0, 0]
  return [containerFree(pool, container), largestDisk(pool.capacityBytes, container)]
}

const lowPool = (cluster: Cluster, poolExtId: string): Condition => ({
  type: 'STORAGE_POOL_LOW',
  clusterExtId: cluster.extId,
  ...{ entityKind: 'StoragePool', entityExtId: poolExtId, entityName: cluster.name },
  text: `Less than ${lowPercent} % of the storage pool of the cluster ${cluster.name} is free.`,
})

const lowContainer = (cluster: Cluster, { extId, name }: StorageContainer): Condition => ({
  type: 'STORAGE_CONTAINER_LOW',
  clusterExtId: cluster.extId,
  ...{ entityKind: 'StorageContainer', entityExtId: extId, entityName: name },
  text: `Less than ${lowPercent} % of the storage container ${name} is free.`,
})
