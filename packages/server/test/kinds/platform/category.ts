/** Requests by which suites that cover every kind reach categories. */
import { creating, named, updating } from '../../support/field-bases.ts'
import type { FieldBase } from '../kind.ts'

export const category = () => ({ key: named('key'), value: named('value') })

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'platform.createCategory': [creating('/platform/v4.3/config/categories', category)],
  'platform.updateCategoryById': [updating('/platform/v4.3/config/categories', category)],
}
