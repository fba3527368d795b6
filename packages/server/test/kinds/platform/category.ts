/** Requests by which suites that cover every kind reach categories. */
import * as walk from '../../restart/walks/request-parts.ts'
import { creating, named, updating } from '../../support/field-bases.ts'
import type { FieldBase } from '../kind.ts'

export const category = () => ({ key: named('key'), value: named('value') })

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'platform.createCategory': [creating('/platform/v4.3/config/categories', category)],
  'platform.updateCategoryById': [updating('/platform/v4.3/config/categories', category)],
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createCategory: (asking) =>
    walk.post(walk.collections.categories, { key: 'walk', value: walk.name(asking, 'value') }),
  describeCategory: (asking) =>
    walk.put(
      asking,
      asking.model.path(asking.draw, walk.collections.categories),
      { description: walk.name(asking, 'said') },
      ['key', 'value'],
    ),
  deleteCategory: walk.removing(walk.collections.categories),
}

export const walkEntities = { [walk.collections.categories]: ['category/Environment/Dev', 'category/AppTier/Web'] }
