/** Selects entities by their categories. Source: catalogue vmm.json (Filter, CategoriesFilter). */
import * as s from '../../schema.ts'

const categoryFilter = (objectType: string) =>
  s.object(objectType, {
    type: s.enumeration(['CATEGORIES_MATCH_ALL', 'CATEGORIES_MATCH_ANY']),
    categoryExtIds: s.arrayOf(s.referenceTo('Category'), { minItems: 1, maxItems: 100, uniqueItems: true }),
  })

export const ImagesFilter = categoryFilter('vmm.v4.images.config.Filter')
export const TemplatesFilter = categoryFilter('catalogCommon.v1.config.CategoriesFilter')
