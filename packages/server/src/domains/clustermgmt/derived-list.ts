/**
 * Lists of clusters and profiles, whose filters and orders may name derived fields that the store does not hold.
 * There are few of them, so the fields are derived for every entity that the caller may see.
 */

import type { AnswerOf, AnyResource, EntityOf } from '@hyperplane/contract'
import type { ListResult } from '../../core/handlers.ts'
import type { RequestInput } from '../../core/input/request-input.ts'
import { listOf } from '../../core/standard.ts'
import { evaluateFilter, groupDocuments } from '../../odata/index.ts'
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
    // The query names no derived field: the presenter derives them, for this page only.
    return ctx.store.page(kind, { ...(scope === undefined ? {} : { scope }), offset: page * limit, limit })
  }
  const all = await derive(await ctx.store.find(kind, scope === undefined ? {} : { scope }))
  if (groupby === undefined) return listOf(all, request)
  const groups: readonly unknown[] = groupDocuments(
    groupby,
    filter === undefined ? all : all.filter((item) => evaluateFilter(filter, item) === true),
  )
  const entities = groups.slice(page * limit, (page + 1) * limit) as AnswerOf<R>[]
  return { entities, total: groups.length }
}
