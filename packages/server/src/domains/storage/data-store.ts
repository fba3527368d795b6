/** Datastores of clustermgmt in an older shape. Source: behaviour volumes-storage.md 1.8. */
import { DataStore } from '@hyperplane/contract/clustermgmt/data-store'
import type { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { dataStoreOperations } from '@hyperplane/contract/storage/data-store'
import { refuseAll } from '../../core/api-error.ts'
import { listOf, notFound, visibleRows } from '../../core/standard.ts'
import { startMount, startUnmount } from '../containers/datastores.ts'
import { withSpace } from '../containers/views.ts'
import { implement, type WriteContext } from '../context.ts'
import { containerNumber, hostNumber, hostWithNumber } from './older-numbers.ts'

export const dataStore = implement(dataStoreOperations, {
  async getDataStores(ctx, request) {
    const { entities } = listOf(await visibleRows(ctx, DataStore), request, { paged: false })
    const shown = []
    for (const { capacityBytes, freeSpaceBytes, ...same } of await withSpace(ctx, entities)) {
      shown.push({
        ...same,
        containerId: await containerNumber(ctx.store, same.containerExtId as string),
        hostId: await hostNumber(ctx.store, same.hostExtId as string),
        capacity: capacityBytes,
        freeSpace: freeSpaceBytes,
      })
    }
    return shown
  },

  async addDataStoreForCluster(ctx, { body }) {
    const { nodeIds, nodeExtIds, readOnly, ...same } = body
    return startMount(ctx, ctx.target, {
      ...same,
      nodeExtIds: await merged(ctx, ctx.target, nodeIds, nodeExtIds),
      isReadOnly: readOnly === true,
    })
  },

  async deleteDataStoreForCluster(ctx, { body }) {
    const { datastoreName, nodeIds, nodeExtIds } = body
    return startUnmount(ctx, ctx.target, {
      datastoreName,
      nodeExtIds: await merged(ctx, ctx.target, nodeIds, nodeExtIds),
    })
  },
})

/** No hosts in both lists means all hosts. @throws ApiError 404 for unknown numbers */
async function merged(
  ctx: WriteContext,
  container: StorageContainer,
  numbers: readonly string[] = [],
  extIds: readonly string[] = [],
): Promise<readonly string[]> {
  const found = new Set(extIds)
  const unknown = []
  for (const [index, number] of numbers.entries()) {
    const extId = await hostWithNumber(ctx.store, container.clusterExtId as string, number)
    if (extId === undefined) unknown.push(notFound('host of this cluster', number, `nodeIds[${index}]`))
    else found.add(extId)
  }
  refuseAll(unknown)
  return [...found]
}
