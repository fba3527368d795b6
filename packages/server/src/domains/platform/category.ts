/** Categories: who may create, change and delete which. Source: behaviour platform.md 1. */
import { User } from '@hyperplane/contract/iam/user'
import { Category, categoryOperations } from '@hyperplane/contract/platform/category'
import { platformMessages } from '@hyperplane/contract/platform/errors'
import { ApiError } from '../../core/api-error.ts'
import { both, notFound, pathOf, standardList } from '../../core/standard.ts'
import { created, replaced } from '../../core/updates.ts'
import { equals, not } from '../../odata/index.ts'
import { implement, type ReadContext, type WriteContext } from '../context.ts'
import { limit, limitOf } from '../limits.ts'
import { presentAssociations, userTypeOf } from './associations.ts'

const maximumCategories = limit('categories', 20_000)
const maximumValues = limit('valuesOfCategoryKey', 1000)
/** Enforced by the store, in the transaction of each association. */
const maximumAssociations = limit('associationsOfCategory', 100_000)

export const category = implement(
  categoryOperations,
  {
    async listCategories(ctx, request) {
      const permitted = await ctx.scopeOf('Category')
      if (permitted === 'none') return { entities: [], total: 0 }
      ctx.followsStore()
      const shown = (await seesInternal(ctx)) ? undefined : not(equals(pathOf(Category, 'type'), 'INTERNAL'))
      return standardList(ctx, { ...request, body: undefined }, both(permitted, shown) ?? 'all')
    },

    async getCategoryById(ctx) {
      const stored = ctx.target
      if (stored.type === 'INTERNAL' && !(await seesInternal(ctx))) {
        throw notFound(Category, stored.extId, 'extId')
      }
      ctx.followsStore()
      return stored
    },

    async createCategory(ctx, { body }) {
      refuseSystemTypes(body.type)
      await checkLimits(ctx, body.key)
      const category = created(ctx, Category, body, { ownerUuid: ctx.caller.extId })
      await ctx.store.insert(Category, category)
      await checkTotal(ctx, category.extId)
      return category
    },

    async updateCategoryById(ctx, { body }) {
      const stored = ctx.target
      refuseSystemTypes(stored.type)
      const ownerUuid = body.ownerUuid ?? stored.ownerUuid
      if (ownerUuid !== undefined && ownerUuid !== stored.ownerUuid && !(await ctx.store.has(User, ownerUuid))) {
        throw notFound(User, ownerUuid, 'ownerUuid')
      }
      await ctx.store.replace(Category, {
        ...replaced(Category, stored, body, ctx.version),
        ownerUuid,
      })
      return [
        {
          ...platformMessages.CATEGORY_UPDATE_SUCCESS,
          severity: 'INFO' as const,
          locale: 'en_US',
          errorGroup: 'CATEGORY_UPDATE_SUCCESS',
        },
      ]
    },

    async deleteCategoryById(ctx) {
      const stored = ctx.target
      refuseSystemTypes(stored.type)
      await refuseWhileAssigned(ctx, stored)
      await ctx.store.remove(Category, stored.extId)
      return undefined
    },
  },
  { present: [[Category, presentAssociations]], limits: [maximumCategories, maximumValues, maximumAssociations] },
)

const seesInternal = (ctx: ReadContext): Promise<boolean> => ctx.services.access.hasRole(ctx.caller, ['Super Admin'])

function refuseSystemTypes(type: Category['type']): void {
  if (type === 'SYSTEM' || type === 'INTERNAL') throw new ApiError('SYSTEM_CATEGORY', { type })
}

async function checkLimits(ctx: WriteContext, key: string): Promise<void> {
  const maximum = limitOf(ctx, maximumValues)
  const found = (await ctx.store.count(Category, { filter: equals(pathOf(Category, 'key'), key) })) + 1
  if (found > maximum) throw new ApiError('LIMIT_EXCEEDED', { limit: `Values of the key "${key}"`, maximum, found })
}

/** After the insert. Sequence numbers only grow: while the newest is within the limit, nothing needs counting. */
async function checkTotal(ctx: WriteContext, extId: string): Promise<void> {
  const maximum = limitOf(ctx, maximumCategories)
  const row = await ctx.store.row(Category, extId)
  if (row === undefined || row.sequence <= maximum) return
  const found = await ctx.store.count(Category)
  if (found > maximum) throw new ApiError('LIMIT_EXCEEDED', { limit: 'Categories', maximum, found })
}

/** Pending referrers count too: an association in progress must not end with a category that is deleted. */
async function refuseWhileAssigned(ctx: WriteContext, stored: Category): Promise<void> {
  const counts: Record<string, number> = {}
  for (const [kind, count] of await ctx.store.referrerCounts('Category', stored.extId))
    counts[userTypeOf(ctx, kind)] = count
  const users = Object.entries(counts).map(([type, count]) => `${count} ${type}`)
  if (users.length === 0) return
  throw new ApiError(
    'CATEGORY_IN_USE',
    { key: stored.key, value: stored.value, users: users.join(', ') },
    { extra: counts },
  )
}
