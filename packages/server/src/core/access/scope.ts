import { predicateOf, type TypedFilter } from '../../odata/index.ts'
import type { Scope } from '../ports.ts'

/** @param scope undefined: nothing */
export const isInScope = (scope: Scope | undefined, entity: unknown): boolean =>
  scope === 'all' || (scope !== undefined && predicateOf(scope)(entity))

/** For `ReadContext.scopeOf`: undefined matches everything. */
export const matchesScope = (scope: TypedFilter | 'none' | undefined, entity: unknown): boolean =>
  scope === undefined || (scope !== 'none' && predicateOf(scope)(entity))
