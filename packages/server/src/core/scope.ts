/** Whether a permission reaches an entity. */
import { predicateOf } from '../odata/index.ts'
import type { Scope } from './ports.ts'

/** @param scope undefined reaches nothing */
export const reaches = (scope: Scope | undefined, entity: unknown): boolean =>
  scope === 'all' || (scope !== undefined && predicateOf(scope)(entity))
