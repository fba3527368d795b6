/** Filters computed rows (not stored ones) by the scope of the caller. */
import { matchesScope } from '../../core/access/scope.ts'
import type { ReadContext } from '../context.ts'

export async function visible<T>(ctx: ReadContext, kind: string, rows: readonly T[]): Promise<readonly T[]> {
  const scope = await ctx.scopeOf(kind)
  return rows.filter((row) => matchesScope(scope, row))
}
