/** Lists with derived fields in filters and orders: clusters and profiles are few, so all visible ones are derived. */

import type { AnswerOf, AnyResource, EntityOf } from '@hyperplane/contract'
import type { ListResult } from '../../core/handlers.ts'
import type { RequestInput } from '../../core/input/request-input.ts'
import { filteredOrGrouped } from '../../core/standard.ts'
import type { ReadContext } from '../context.ts'

export async function derivedList<R extends AnyResource>(
  ctx: ReadContext,
  request: Pick<RequestInput, 'query'>,
  kind: R,
  derive: (entities: readonly EntityOf<R>[]) => Promise<readonly EntityOf<R>[]>,
): Promise<ListResult<AnswerOf<R>>> {
  const scope = await ctx.scopeOf(kind.kind)
  if (scope === 'none') return { entities: [], total: 0 }
  const { filter, orderby, groupby, page, limit } = request.query
  if (filter === undefined && orderby === undefined && groupby === undefined) {
    // The query names no derived field, so deriving them for one page suffices.
    return ctx.store.page(kind, { scope, offset: page * limit, limit })
  }
  const all = await derive(await ctx.store.find(kind, { scope }))
  return filteredOrGrouped(all, request) as ListResult<AnswerOf<R>>
}
