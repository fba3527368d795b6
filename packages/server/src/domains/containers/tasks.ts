/** Source: behaviour clustermgmt.md 1.9, 3 (durations). */
import { DataStore } from '@hyperplane/contract/clustermgmt/data-store'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { ApiError } from '../../core/api-error.ts'
import { defineTask } from '../context.ts'
import { checkCluster } from '../registrations/reachability.ts'
import { requireContainerRoom } from './rules.ts'

/** With `ignoreSmallFiles`, leftover files below this size do not prevent the deletion. */
const smallFileBytes = 1024 * 1024

const policyOf = ({
  extId,
  clusterExtId,
  name,
  links,
  tenantId,
  reductionsSince,
  isMarkedForRemoval,
  ...policy
}: StorageContainer): Record<string, unknown> => policy
export const specOf = (container: StorageContainer) => ({
  extId: container.extId,
  clusterExtId: container.clusterExtId as string,
  name: container.name,
  policy: policyOf(container),
})

const putContainer = {
  name: 'apply to the cluster',
  progress: 90,
  seconds: [2, 5] as const,
}

interface Creation {
  readonly extId: string
  readonly clusterExtId: string
}

export const createContainer = defineTask<Creation>({
  name: 'clustermgmt.create-storage-container',
  cancelableUntil: 'record',
  steps: [
    checkCluster(({ clusterExtId }) => clusterExtId),
    {
      ...putContainer,
      run: async (ctx, { extId }) => {
        const container = (await ctx.store.pending(StorageContainer, extId)) as StorageContainer
        await ctx.drivers.hardware.putContainer(specOf(container), ctx.callKey)
      },
      undo: async (ctx, { extId }) => {
        const container = (await ctx.store.pending(StorageContainer, extId)) as StorageContainer
        await ctx.drivers.hardware.takeBackContainer(container.clusterExtId as string, extId, ctx.callKey)
      },
    },
    {
      name: 'record',
      record: async (ctx, { extId }) => {
        // Another container may have reserved the space since the request was accepted.
        await requireContainerRoom(ctx, (await ctx.store.pending(StorageContainer, extId)) as StorageContainer)
        await ctx.store.publish(StorageContainer, extId)
      },
    },
  ],
  onUndone: (ctx, { extId }) => ctx.store.remove(StorageContainer, extId),
})

interface Update {
  readonly container: StorageContainer
}

export const updateContainer = defineTask<Update>({
  name: 'clustermgmt.update-storage-container',
  steps: [
    checkCluster(({ container }) => container.clusterExtId),
    {
      ...putContainer,
      run: (ctx, { container }) => ctx.drivers.hardware.putContainer(specOf(container), ctx.callKey),
      undo: (ctx, { container }) =>
        ctx.drivers.hardware.takeBackContainer(container.clusterExtId as string, container.extId, ctx.callKey),
    },
    {
      name: 'record',
      record: async (ctx, { container }) => {
        await requireContainerRoom(ctx, container)
        await ctx.store.replace(StorageContainer, container)
      },
    },
  ],
})

interface Removal {
  readonly extId: string
  readonly clusterExtId: string
  readonly ignoreSmallFiles: boolean
}

export const deleteContainer = defineTask<Removal>({
  name: 'clustermgmt.delete-storage-container',
  steps: [
    {
      name: 'check empty',
      progress: 5,
      run: async (ctx, { extId, clusterExtId, ignoreSmallFiles }) => {
        const name = (await ctx.store.get(StorageContainer, extId))?.name ?? extId
        // A mount that was accepted before this request may have ended since.
        const mounted = (await ctx.store.findWhere(DataStore, { containerExtId: extId })).length
        if (mounted > 0) {
          throw new ApiError('ENTITY_IN_USE', { kind: 'storage container', name, users: `${mounted} datastores` })
        }
        const files = await ctx.drivers.hardware.leftoverFiles(clusterExtId, extId)
        const kept = files.filter((bytes) => !ignoreSmallFiles || bytes >= smallFileBytes)
        if (kept.length > 0) throw new ApiError('STORAGE_CONTAINER_NOT_EMPTY', { name, users: `${kept.length} files` })
      },
    },
    {
      name: 'remove from the cluster',
      progress: 90,
      seconds: [2, 5],
      run: (ctx, { extId, clusterExtId }) => ctx.drivers.hardware.removeContainer(clusterExtId, extId),
      undo: async (ctx, { extId }) => {
        const container = await ctx.store.get(StorageContainer, extId)
        if (container !== undefined) await ctx.drivers.hardware.putContainer(specOf(container), `${ctx.callKey}/undo`)
      },
    },
    { name: 'record', record: (ctx, { extId }) => ctx.store.remove(StorageContainer, extId) },
  ],
  pointOfNoReturn: 'record',
  onUndone: async (ctx, { extId }) => {
    await ctx.store.update(StorageContainer, extId, { isMarkedForRemoval: false })
  },
})
