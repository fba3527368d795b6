/** Source: specification 4.1; behaviour clustermgmt.md 1.9. */
import { StorageContainer, storageContainerOperations } from '@hyperplane/contract/clustermgmt/storage-container'
import { replaced } from '../../core/updates.ts'
import { mountContainer, startMount, startUnmount, unmountContainer } from '../containers/datastores.ts'
import { containerCreationFaults, containerFaults } from '../containers/rules.ts'
import {
  startContainerCreation,
  startContainerRemoval,
  startContainerUpdate,
} from '../containers/storage-containers.ts'
import { createContainer, deleteContainer, updateContainer } from '../containers/tasks.ts'
import { clearThickSpace, startClearing } from '../containers/thick-space.ts'
import { withCapacity } from '../containers/views.ts'
import { implement, type ReadContext } from '../context.ts'

export const storageContainer = implement(
  storageContainerOperations,
  {
    createStorageContainer: (ctx, { body, headers }) => startContainerCreation(ctx, headers.clusterId as string, body),

    updateStorageContainerById: (ctx, { body }) =>
      startContainerUpdate(ctx, ctx.target, replaced(StorageContainer, ctx.target, body, ctx.version)),

    deleteStorageContainerById: (ctx, { query }) =>
      startContainerRemoval(ctx, ctx.target, query.parameters['ignoreSmallFiles'] === true),

    mountStorageContainer: (ctx, { body }) => startMount(ctx, ctx.target, body),

    clearThickProvisionedSpace: (ctx, { headers }) => startClearing(ctx, ctx.target, headers.clusterId),

    unmountStorageContainer: (ctx, { body }) => startUnmount(ctx, ctx.target, body),
  },
  {
    rules: {
      createStorageContainer: ({ body, headers }) => containerCreationFaults(body, headers.clusterId as string),
      updateStorageContainerById: ({ body }) => containerFaults(body),
    },
    tasks: [clearThickSpace, createContainer, deleteContainer, mountContainer, unmountContainer, updateContainer],
    present: [
      [
        StorageContainer,
        async (ctx: ReadContext, containers) =>
          (await withCapacity(ctx, containers)).map((container) => ({
            ...container,
            ...linksOf(ctx, container.extId),
          })),
      ],
    ],
  },
)

/** Other namespaces show no links. */
function linksOf({ operation, version }: ReadContext, extId: string): object {
  if (operation.namespace !== 'clustermgmt') return {}
  const at = (area: string): string => `/clustermgmt/${version}/${area}/storage-containers/${extId}`
  return {
    links: [
      { rel: 'self', href: at('config') },
      { rel: 'storage-container', href: at('config') },
      { rel: 'storage-container-stats', href: at('stats') },
    ],
  }
}
