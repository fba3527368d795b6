/** Source: behaviour volumes-storage.md 1.2. */

import type { EntityOf } from '@hyperplane/contract'
import { User } from '@hyperplane/contract/iam/user'
import { Category } from '@hyperplane/contract/platform/category'
import { type CategoryDetails, VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { matchesScope } from '../../core/access/scope.ts'
import { ApiError, invalid } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import type { ListResult, TaskStarted } from '../../core/handlers.ts'
import type { RequestInput } from '../../core/input/request-input.ts'
import { listOf, rowWithId } from '../../core/standard.ts'
import type { Group } from '../block-volumes/attachments.ts'
import { groupTask, requireUsable } from '../block-volumes/groups.ts'
import { defineTask, type ReadContext, type WriteContext } from '../context.ts'

const maximumCategories = 20

interface Change {
  readonly groupExtId: string
  readonly categoryIds: readonly string[]
}

const kinds = {
  associate: { operation: 'UpdateCategoryAssociations_kOperationAttach', description: 'Associate Category' },
  disassociate: { operation: 'UpdateCategoryAssociations_kOperationDetach', description: 'Disassociate Category' },
} as const

interface CategoryReference {
  readonly extId: string
  readonly entityType?: string | undefined
}

export const referenceFaults = (categories: readonly CategoryReference[]): ApiError[] =>
  categories.flatMap(({ entityType }, index) =>
    entityType === undefined || entityType === 'CATEGORY'
      ? []
      : [invalid(`categories[${index}]/entityType`, `expected CATEGORY, found ${entityType}`)],
  )

/** Repeated associations, and removals of absent ones, change nothing. */
export async function associateCategories(
  ctx: WriteContext,
  group: Group,
  categories: readonly CategoryReference[],
  kind: keyof typeof kinds,
): Promise<TaskStarted> {
  await requireUsable(ctx, group)
  const categoryIds = categories.map(({ extId }) => extId)
  if (kind === 'associate') withCategories(group, categoryIds)
  await ctx.store.touch(VolumeGroup, group.extId)
  const { operation, description } = kinds[kind]
  const options = groupTask(operation, description, group)
  return ctx.startTask(tasks[kind], { groupExtId: group.extId, categoryIds }, options)
}

const tasks = {
  associate: defineTask<Change>({
    name: 'volumes.associate-category',
    steps: [
      {
        name: 'associate',
        record: async (ctx, { groupExtId, categoryIds }) => {
          for (const extId of categoryIds) await rowWithId(ctx.store, Category, extId, 'categories')
          const group = await rowWithId(ctx.store, VolumeGroup, groupExtId)
          await ctx.store.update(VolumeGroup, groupExtId, { categoryIds: withCategories(group, categoryIds) })
        },
      },
    ],
  }),
  disassociate: defineTask<Change>({
    name: 'volumes.disassociate-category',
    steps: [
      {
        name: 'disassociate',
        record: async (ctx, { groupExtId, categoryIds }) => {
          const group = await ctx.store.get(VolumeGroup, groupExtId)
          const remaining = (group?.categoryIds ?? []).filter((extId) => !categoryIds.includes(extId))
          await ctx.store.update(VolumeGroup, groupExtId, { categoryIds: remaining })
        },
      },
    ],
  }),
}

export const categoryTasks = Object.values(tasks)

function withCategories(group: Group, added: readonly string[]): string[] {
  const all = [...new Set([...(group.categoryIds ?? []), ...added])]
  if (all.length > maximumCategories) {
    const limit = `Categories of the volume group "${group.name}"`
    throw new ApiError('LIMIT_EXCEEDED', { limit, maximum: maximumCategories, found: all.length })
  }
  return all
}

export async function metadataOf(ctx: ReadContext, { categoryIds = [], ownerReferenceId }: Group) {
  const owner = ownerReferenceId === undefined ? undefined : await ctx.store.get(User, ownerReferenceId)
  const categories = categoryIds.length === 0 ? undefined : categoryIds
  return defined({ categoryIds: categories, ownerReferenceId, ownerUserName: owner?.username })
}

export async function categoryDetailsOf(
  ctx: ReadContext,
  group: Group,
  request: Pick<RequestInput, 'query'>,
): Promise<ListResult<EntityOf<typeof CategoryDetails>>> {
  const scope = await ctx.scopeOf(Category.kind)
  const categories = (await ctx.store.getMany(Category, group.categoryIds ?? [])).filter((one) =>
    matchesScope(scope, one),
  )
  const details = categories.map(({ extId, key, value }) => ({
    extId,
    name: `${key}/${value}`,
    entityType: 'CATEGORY' as const,
    uris: [`/api/platform/v4.3/config/categories/${extId}`],
  }))
  return listOf(details, request)
}
