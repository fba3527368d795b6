/** Whether a permission reaches an entity. */
import { predicateOf, type TypedFilter } from '../../odata/index.ts'
import type { Scope } from '../ports.ts'

/** @param scope undefined reaches nothing */
export const isInScope = (scope: Scope | undefined, entity: unknown): boolean =>
  scope === 'all' || (scope !== undefined && predicateOf(scope)(entity))

/** The same of what `scopeOf` answers a handler: undefined shows everything. */
export const matchesScope = (scope: TypedFilter | 'none' | undefined, entity: unknown): boolean =>
  scope === undefined || (scope !== 'none' && predicateOf(scope)(entity))
