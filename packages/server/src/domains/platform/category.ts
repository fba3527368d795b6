/** Categories. Source: behaviour platform.md 1. */
import { Category, categoryOperations } from '@hyperplane/contract/platform/category'
import { implement } from '../context.ts'

export const category = implement(categoryOperations, {
  async createCategory(ctx, { body }) {
    return ctx.store.insert(Category, { ...body, extId: ctx.ids.uuid(), tenantId: ctx.tenantId, ownerUuid: ctx.caller.extId })
  },
  async updateCategoryById() {
    return []
  },
  async deleteCategoryById(ctx) {
    await ctx.store.remove(Category, ctx.target.extId)
    return undefined
  },
})
