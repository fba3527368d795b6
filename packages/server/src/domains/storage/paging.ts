/** A page beyond the end returns the last one, a limit of 0 no items. Source: specification 4.1 ($page, $limit); volumes-storage.md 1.8. */

import type { ListResult } from '../../core/handlers.ts'
import type { RequestInput } from '../../core/input/request-input.ts'
import { listOf } from '../../core/standard.ts'
import { applySelection } from '../../odata/index.ts'

/** @param present called for the items of the page only */
export async function clampedList<T extends object>(
  items: readonly T[],
  { query }: Pick<RequestInput, 'query'>,
  present: (page: readonly T[]) => Promise<readonly T[]> = async (page) => page,
): Promise<ListResult<T>> {
  const { entities: matching, total } = listOf(items, { query }, { paged: false })
  const { limit, select } = query
  const last = limit === 0 ? 0 : Math.max(0, Math.ceil(total / limit) - 1)
  const page = Math.min(query.page, last)
  const shown = await present(matching.slice(page * limit, (page + 1) * limit))
  const entities = select === undefined ? shown : shown.map((item) => applySelection(select, item))
  return { entities, total, page }
}
