/** Kept in the order of association. Source: specification 4.5; behaviour clustermgmt.md 1.2. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Category } from '@hyperplane/contract/platform/category'
import { ApiError } from '../../core/api-error.ts'
import { rowWithId } from '../../core/standard.ts'
import { defineTask, type WriteContext } from '../context.ts'
import { requireReachable } from '../registrations/reachability.ts'
import { requireNotDestroyed } from '../scheduling/topology.ts'
import { clusterTask } from './cluster-task.ts'

interface Association {
  readonly clusterExtId: string
  readonly direction: 'attach' | 'detach'
  readonly categories: readonly string[]
}

const maximumCategories = 1024

export const updateAssociations = defineTask<Association>({
  name: 'clustermgmt.update-category-associations',
  steps: [
    {
      name: 'record',
      record: async (ctx, { clusterExtId, direction, categories }) => {
        const cluster = (await ctx.store.get(Cluster, clusterExtId)) as Cluster
        const current = cluster.categories ?? []
        if (direction === 'detach') {
          const left = current.filter((extId) => !categories.includes(extId))
          await ctx.store.update(Cluster, clusterExtId, { categories: left.length === 0 ? undefined : left })
          return
        }
        for (const [index, extId] of categories.entries()) {
          await rowWithId(ctx.store, Category, extId, `categories[${index}]`)
        }
        await ctx.store.update(Cluster, clusterExtId, { categories: [...new Set([...current, ...categories])] })
      },
    },
  ],
})

export async function startAssociation(
  ctx: WriteContext,
  cluster: Cluster,
  direction: 'attach' | 'detach',
  categories: readonly string[],
): Promise<{ extId: string }> {
  const found = new Set([...(cluster.categories ?? []), ...categories]).size
  if (direction === 'attach' && found > maximumCategories) {
    throw new ApiError('LIMIT_EXCEEDED', { limit: 'categories of a cluster', maximum: maximumCategories, found })
  }
  await requireNotDestroyed(ctx.store, cluster)
  requireReachable(ctx, cluster)
  await ctx.store.touch(Cluster, cluster.extId)
  const [operation, description] =
    direction === 'attach' ? ['Attach', 'Associate Category'] : ['Detach', 'Disassociate Category']
  const options = { ...clusterTask(`UpdateCategoryAssociations_kOperation${operation}`, cluster), description }
  return ctx.startTask(updateAssociations, { clusterExtId: cluster.extId, direction, categories }, options)
}
