/** Storage containers for clustermgmt and storage v4.0.a3. Source: behaviour clustermgmt.md 1.9; volumes-storage.md 1.8. */
import type { BodyOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { DataStore } from '@hyperplane/contract/clustermgmt/data-store'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { ApiError, refuseAll } from '../../core/api-error.ts'
import { pathOf, rowWithId } from '../../core/standard.ts'
import { created } from '../../core/updates.ts'
import { equals } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'
import { taskAbout, type WriteContext } from '../context.ts'
import { refuseReadOnly, requireReachable } from '../registrations/reachability.ts'
import { copiesOf, storageHostsOf, storagePoolOf } from '../storage-space/capacity.ts'
import { reductionsSince } from '../storage-space/data-reduction.ts'
import { isLeaving } from '../storage-space/leaving-hosts.ts'
import { imageContainerName, kindsInImageContainer } from '../storage-space/stored-data.ts'
import { type ContainerRules, containerRefusals, requireContainerRoom } from './rules.ts'
import { createContainer, deleteContainer, updateContainer } from './tasks.ts'

type Body = BodyOf<typeof StorageContainer>

export function isManager(cluster: Cluster): boolean {
  return cluster.config?.clusterFunction?.includes('PRISM_CENTRAL') === true
}

export function refuseManager(cluster: Cluster, action: string): void {
  if (isManager(cluster)) throw new ApiError('NOT_SUPPORTED_ON_MANAGER', { name: cluster.name, action })
}

/** @throws ApiError 404 if unknown, 400 for the manager, 503 if unreachable */
export async function clusterFor(
  ctx: WriteContext,
  clusterExtId: string,
  attribute: string,
  action: string,
): Promise<Cluster> {
  const cluster = await rowWithId(ctx.store, Cluster, clusterExtId, attribute)
  refuseManager(cluster, action)
  requireReachable(ctx, cluster)
  return cluster
}

/** @param legacy fields of storage v4.0.a3 without a counterpart */
export async function startContainerCreation(
  ctx: WriteContext,
  clusterExtId: string,
  body: Body,
  legacy?: object,
): Promise<{ extId: string }> {
  const cluster = await clusterFor(ctx, clusterExtId, 'X-Cluster-Id', 'creating a storage container')
  refuseReadOnly(cluster, 'storage containers')
  const extId = ctx.ids.uuid()
  const container: StorageContainer = created(ctx, StorageContainer, body, {
    ...derivedFields(body, cluster),
    extId,
    containerExtId: extId,
    clusterExtId,
    clusterName: cluster.name,
    storagePoolExtId: storagePoolOf(clusterExtId),
    ownerExtId: body.ownerExtId ?? ctx.caller.extId,
    isMarkedForRemoval: false,
    createdAt: ctx.clock.iso(),
    reductionsSince: reductionsSince(body, undefined, ctx.clock.iso()),
    legacy,
  })
  const host = await hostOfOnlyCopy(ctx.store, container)
  if (host !== undefined) container.affinityHostExtId = host
  const rules: ContainerRules = { cluster, container }
  refuseAll(await containerRefusals(ctx, rules))
  await requireContainerRoom(ctx, container)
  await ctx.store.insert(StorageContainer, container, { pending: true })
  const options = taskAbout('Create Storage Container', StorageContainer, container, clusterExtId)
  return ctx.startTask(createContainer, { extId, clusterExtId }, options)
}

/** A single copy without a requested host goes to the host with the fewest pinned containers. */
async function hostOfOnlyCopy(store: Reader, container: StorageContainer): Promise<string | undefined> {
  const { clusterExtId = '', affinityHostExtId } = container
  if (copiesOf(container) !== 1 || affinityHostExtId !== undefined) return undefined
  const all = await storageHostsOf(store, clusterExtId)
  if (all.length < 2) return undefined
  const hosts = all.filter((host) => !isLeaving(host))
  const load = new Map(hosts.map(({ extId }) => [extId, 0]))
  for (const { affinityHostExtId: host = '' } of await store.findWhere(StorageContainer, { clusterExtId }))
    if (load.has(host)) load.set(host, load.get(host)! + 1)
  const least = Math.min(...load.values())
  return hosts.find(({ extId }) => load.get(extId) === least)?.extId
}

export async function startContainerUpdate(
  ctx: WriteContext,
  stored: StorageContainer,
  next: StorageContainer,
): Promise<{ extId: string }> {
  const cluster = await clusterFor(ctx, stored.clusterExtId as string, 'clusterExtId', 'updating a storage container')
  const container: StorageContainer = {
    ...next,
    ...derivedFields(next, cluster),
    ownerExtId: next.ownerExtId ?? stored.ownerExtId,
    reductionsSince: reductionsSince(next, stored, ctx.clock.iso()),
  }
  refuseAll(await containerRefusals(ctx, { cluster, container, stored }))
  if (container.name !== stored.name) await requireFreeName(ctx.store, container)
  if (
    container.name !== stored.name &&
    (await ctx.store.findOne(DataStore, { containerExtId: stored.extId })) !== undefined
  ) {
    throw new ApiError('CONFLICT', {
      fault: `The storage container "${stored.name}" is mounted as a datastore and cannot be renamed. Unmount it first.`,
    })
  }
  if (stored.isMarkedForRemoval === true) throw markedForRemoval(stored)
  await requireContainerRoom(ctx, container)
  await ctx.store.touch(StorageContainer, stored.extId)
  const options = taskAbout('Update Storage Container', StorageContainer, container, cluster.extId)
  return ctx.startTask(updateContainer, { container }, options)
}

export async function startContainerRemoval(
  ctx: WriteContext,
  stored: StorageContainer,
  ignoreSmallFiles: boolean,
): Promise<{ extId: string }> {
  const cluster = await clusterFor(ctx, stored.clusterExtId as string, 'clusterExtId', 'deleting a storage container')
  if (stored.isInternal === true) {
    throw new ApiError('CONFLICT', {
      fault: `The storage container "${stored.name}" belongs to the system and cannot be deleted.`,
    })
  }
  if (stored.isMarkedForRemoval === true) throw markedForRemoval(stored)
  const mounted = (await ctx.store.findWhere(DataStore, { containerExtId: stored.extId })).length
  if (mounted > 0) {
    throw new ApiError('ENTITY_IN_USE', {
      kind: 'storage container',
      name: stored.name,
      users: `${mounted} datastores`,
    })
  }
  const users = await usersOf(ctx.store, stored)
  if (users.size > 0) {
    const text = [...users].map(([kind, count]) => `${count} ${kind}`).join(', ')
    throw new ApiError(
      'STORAGE_CONTAINER_NOT_EMPTY',
      { name: stored.name, users: text },
      { extra: Object.fromEntries(users) },
    )
  }
  await ctx.store.update(StorageContainer, stored.extId, { isMarkedForRemoval: true })
  const input = { extId: stored.extId, clusterExtId: cluster.extId, ignoreSmallFiles }
  const options = taskAbout('Delete Storage Container', StorageContainer, stored, cluster.extId)
  return ctx.startTask(deleteContainer, input, options)
}

export const markedForRemoval = (container: StorageContainer): ApiError =>
  new ApiError('CONFLICT', { fault: `The storage container "${container.name}" is being removed.` })

/** @throws ApiError 409 for containers that are being deleted */
export async function requireContainersNotRemoved(store: Reader, containerExtIds: readonly string[]): Promise<void> {
  const leaving = (await store.getMany(StorageContainer, [...new Set(containerExtIds)])).filter(
    ({ isMarkedForRemoval }) => isMarkedForRemoval === true,
  )
  refuseAll(leaving.map(markedForRemoval))
}

/** Includes pending rows of running tasks. */
async function usersOf(store: Reader, container: StorageContainer): Promise<ReadonlyMap<string, number>> {
  const users = new Map(await store.referrerCounts('StorageContainer', container.extId))
  if (container.name === imageContainerName) {
    for (const kind of kindsInImageContainer) {
      const filter = equals(pathOf(kind, 'clusterLocationExtIds'), container.clusterExtId as string)
      const files = await store.count(kind, { filter })
      if (files > 0) users.set(kind.kind, files)
    }
  }
  return users
}

/** Early check only: the task that records the name enforces uniqueness. */
async function requireFreeName(store: Reader, container: StorageContainer): Promise<void> {
  const name = container.name.toLowerCase()
  const others = await store.findWhere(StorageContainer, { clusterExtId: container.clusterExtId as string })
  if (others.some((other) => other.extId !== container.extId && other.name.toLowerCase() === name)) {
    throw new ApiError('STORAGE_CONTAINER_NAME_EXISTS', { fields: 'name' })
  }
}

/** Defaults that depend on the cluster or other fields, and `isEncrypted`. */
function derivedFields(body: Body | StorageContainer, cluster: Cluster) {
  const hasAddresses = (body.nfsWhitelistAddress?.length ?? 0) > 0
  return {
    replicationFactor: body.replicationFactor ?? cluster.config?.redundancyFactor ?? 2,
    isNfsWhitelistInherited: body.isNfsWhitelistInherited ?? !hasAddresses,
    isEncrypted: body.isSoftwareEncryptionEnabled === true,
    erasureCodeDelaySecs: body.erasureCodeDelaySecs ?? (body.erasureCode === 'ON' ? 604_800 : undefined),
  }
}
