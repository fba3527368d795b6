/** Containers of clustermgmt in an older shape. Source: behaviour volumes-storage.md 1.8. */
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { storageContainerOperations } from '@hyperplane/contract/storage/storage-container'
import { ApiError } from '../../core/api-error.ts'
import { visibleRows } from '../../core/standard.ts'
import { replaced } from '../../core/updates.ts'
import { containerCreationFaults, containerFaults } from '../containers/rules.ts'
import {
  startContainerCreation,
  startContainerRemoval,
  startContainerUpdate,
} from '../containers/storage-containers.ts'
import { withCapacity } from '../containers/views.ts'
import { implement, type ReadContext } from '../context.ts'
import { legacyFields, newerBody, type Older, olderContainer } from './container-names.ts'
import { containerNumber } from './older-numbers.ts'
import { clampedList } from './paging.ts'

export const storageContainer = implement(
  storageContainerOperations,
  {
    async getAllStorageContainers(ctx, request) {
      const all: Older[] = []
      for (const container of await withCapacity(ctx, await visibleRows(ctx, StorageContainer)))
        all.push(await shown(ctx, container))
      return clampedList(all, request)
    },

    async getStorageContainerByExtId(ctx) {
      const [container] = await withCapacity(ctx, [ctx.target])
      return shown(ctx, container as StorageContainer)
    },

    addStorageContainerForCluster: (ctx, { body, headers }) =>
      startContainerCreation(ctx, headers.clusterId as string, { ...defaults, ...newerBody(body) }, legacyFields(body)),

    async updateStorageContainer(ctx, { body }) {
      const stored = ctx.target
      requireSameHost(stored, body)
      const next = { ...defaults, isInternal: stored.isInternal, ...newerBody(body) }
      const container = replaced(StorageContainer, stored, next, ctx.version)
      return startContainerUpdate(ctx, stored, { ...container, legacy: legacyFields(body) })
    },

    deleteStorageContainerByExtId: (ctx, { query }) =>
      startContainerRemoval(ctx, ctx.target, query.parameters['ignoreSmallFiles'] === true),
  },
  {
    rules: {
      addStorageContainerForCluster: ({ body, headers }) =>
        containerCreationFaults(newerBody(body), headers.clusterId as string),
      updateStorageContainer: ({ body }) => containerFaults(newerBody(body)),
    },
  },
)

/** The older contract declares no defaults; these equal the current ones. */
const defaults = {
  logicalExplicitReservedCapacityBytes: 0,
  erasureCode: 'OFF',
  isCompressionEnabled: false,
  compressionDelaySecs: 0,
  onDiskDedup: 'OFF',
  cacheDeduplication: 'OFF',
  isSoftwareEncryptionEnabled: false,
  isInternal: false,
} as const

const shown = async (ctx: ReadContext, container: StorageContainer): Promise<Older> =>
  olderContainer(container, await containerNumber(ctx.store, container.extId))

/** Checked here, because the pipeline compares immutable fields by name and this one is stored under another name. */
function requireSameHost({ affinityHostExtId: expected }: StorageContainer, { affinityHostUuid: found }: Older): void {
  if (found === undefined || found === expected) return
  throw new ApiError('IMMUTABLE_ATTRIBUTE', {
    attributePath: 'affinityHostUuid',
    expected: expected === undefined ? 'nothing' : `"${expected}"`,
    found: `"${found}"`,
  })
}
