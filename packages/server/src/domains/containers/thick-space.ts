/** Thick disks of a container become thin. Source: behaviour clustermgmt.md 1.9. */
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { invalid } from '../../core/api-error.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import { defineTask, taskAbout, type WriteContext } from '../context.ts'
import { checkCluster } from '../registrations/reachability.ts'
import { clusterFor, markedForRemoval } from './storage-containers.ts'

interface Clearing {
  readonly extId: string
  readonly clusterExtId: string
}

export const clearThickSpace = defineTask<Clearing>({
  name: 'clustermgmt.clear-thick-provisioned-space',
  steps: [
    checkCluster(({ clusterExtId }) => clusterExtId),
    {
      name: 'find thick disks',
      progress: 10,
      run: async (ctx, { extId }) => [...ctx.drivers.blockStorage.thickDisksIn(extId).keys()],
      // No undo: a search changes nothing.
    },
    {
      name: 'make them thin',
      seconds: [2, 5],
      run: (ctx) => ctx.drivers.blockStorage.provisionDisks(ctx.outputs['find thick disks'] as string[], 'thin'),
      undo: (ctx) => ctx.drivers.blockStorage.provisionDisks(ctx.outputs['find thick disks'] as string[], 'thick'),
    },
  ],
})

/** @param clusterExtId of the header; if given, that of the container */
export async function startClearing(
  ctx: WriteContext,
  container: StorageContainer,
  clusterExtId: string | undefined,
): Promise<TaskStarted> {
  const own = container.clusterExtId as string
  if (clusterExtId !== undefined && clusterExtId !== own)
    throw invalid('X-Cluster-Id', `expected the cluster of the container, ${own}, or none; found ${clusterExtId}`)
  const { extId: cluster } = await clusterFor(ctx, own, 'clusterExtId', 'clearing thick-provisioned space')
  if (container.isMarkedForRemoval === true) throw markedForRemoval(container)
  const options = taskAbout('Clear Thick Provisioned Space', StorageContainer, container, cluster)
  return ctx.startTask(clearThickSpace, { extId: container.extId, clusterExtId: cluster }, options)
}
