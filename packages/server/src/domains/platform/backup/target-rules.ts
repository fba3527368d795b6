/** Rules for a backup target that are checked before its place is contacted. Source: behaviour platform.md 7. */

import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import { type Location, locationFaults } from '../../../archive/location-rules.ts'
import { ApiError, invalid, refuseAll } from '../../../core/api-error.ts'
import { rowWithId } from '../../../core/standard.ts'
import type { Clock } from '../../../core/time/clock.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { Reader } from '../../../store/store.ts'
import type { AffectedEntity } from '../../context.ts'
import { registrationOf } from '../../registrations/registrations.ts'
import { backupContainerOf, containerFree, poolUsage } from '../../storage-space/capacity.ts'

export type Target = BackupTarget

const maximumTargets = { cluster: 3, objectStore: 1 } as const
/** Relative to the last backup, which stays until the new one is complete. */
const roomFactor = 2

export const clusterOf = (location: Location): string | undefined =>
  'config' in location && !('address' in location.config) ? location.config.extId : undefined

/** Minutes between two runs. A cluster's only restore point is replaced every half an hour. */
export const minutesBetween = (location: Location): number =>
  'config' in location ? 30 : (location.backupPolicy?.rpoInMinutes ?? 60)

export function checkTargetLocation(location: Location): void {
  if ('config' in location) {
    if ('address' in location.config)
      throw invalid('location/config', 'expected a cluster reference: only that is supported for backup')
    if ('backupPolicy' in location)
      throw invalid('location/backupPolicy', 'expected none: a cluster keeps one restore point, replaced every 30 min')
    return
  }
  const faults = locationFaults(location)
  if (location.backupPolicy === undefined)
    faults.push(invalid('location/backupPolicy/rpoInMinutes', 'is required with an object store: 60 to 1440'))
  if (location.providerConfig.credentials === undefined)
    faults.push(invalid('location/providerConfig/credentials', 'is required: accessKeyId and secretAccessKey'))
  refuseAll(faults)
}

/** @throws ApiError 422 for too many targets, 409 if the cluster is a target already */
export async function refuseTooMany(store: Reader, location: Location): Promise<void> {
  const targets = await store.find(BackupTarget)
  const cluster = clusterOf(location)
  if (cluster !== undefined && targets.some(({ extId }) => extId === cluster))
    throw new ApiError('ENTITY_ALREADY_EXISTS', { kind: 'backup target', fields: 'cluster' })
  const found = targets.filter((target) => 'config' in target.location === 'config' in location).length + 1
  const [limit, maximum] =
    'config' in location
      ? ['Backup targets on clusters', maximumTargets.cluster]
      : ['Backup targets on object stores', maximumTargets.objectStore]
  if (found > maximum) throw new ApiError('BACKUP_TARGET_LIMIT_EXCEEDED', { limit, maximum, found })
}

interface Asking {
  readonly store: Reader
  readonly clock: Clock
  readonly drivers: Drivers
}

/** Object stores are checked by a probe instead. @throws ApiError 404, 409 */
export async function requireEligible(ctx: Asking, location: Location): Promise<void> {
  const extId = clusterOf(location)
  if (extId === undefined) return
  const cluster = await rowWithId(ctx.store, Cluster, extId, 'location/config/extId')
  const refuse = (fault: string): ApiError =>
    new ApiError('CONFLICT', { fault: `The cluster "${cluster.name}" cannot hold backups: ${fault}.` })
  if (!cluster.config?.clusterFunction?.includes('AOS')) throw refuse('it has not the function AOS')
  const { connectivityStatus = 'missing' } = (await registrationOf(ctx.store, extId)) ?? {}
  if (connectivityStatus !== 'CONNECTED') throw refuse(`its registration is ${connectivityStatus}`)
  if (!ctx.drivers.hardware.isReachable(extId)) throw refuse('it does not answer')
  const container = await backupContainerOf(ctx.store, extId)
  const last = Math.max(0, ...(await ctx.store.find(BackupTarget)).map((target) => target.lastSizeBytes ?? 0))
  const free = container === undefined ? 0 : containerFree(await poolUsage(ctx, extId), container)
  if (free < roomFactor * last || container === undefined) {
    const shortfall = `${free} bytes are free on the cluster "${cluster.name}", ${roomFactor * last} are needed`
    throw new ApiError('BACKUP_CLUSTER_FULL', { shortfall })
  }
}

/** Serialises runs and changes of a target without blocking the tasks of its cluster. */
export const lockOfTarget = (targetExtId: string): string => `backup-target/${targetExtId}`

export async function affectedByBackup(
  store: Reader,
  manager: { readonly extId: string; readonly config: { readonly name: string } },
  location: Location,
): Promise<readonly AffectedEntity[]> {
  const own = { extId: manager.extId, name: manager.config.name, rel: 'platform:config:domain_manager' }
  const clusterExtId = clusterOf(location)
  if (clusterExtId === undefined) return [own]
  const name = (await store.get(Cluster, clusterExtId))?.name
  return [own, { extId: clusterExtId, rel: 'clustermgmt:config:cluster', ...(name === undefined ? {} : { name }) }]
}
