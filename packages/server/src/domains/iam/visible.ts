/** Rows that are computed rather than stored, as far as the caller may see them. */
import { evaluateFilter } from '../../odata/index.ts'
import type { ReadContext } from '../context.ts'

export async function visible<T>(ctx: ReadContext, kind: string, rows: readonly T[]): Promise<readonly T[]> {
  const scope = await ctx.scopeOf(kind)
  if (scope === 'none') return []
  return scope === undefined ? rows : rows.filter((row) => evaluateFilter(scope, row) === true)
}
