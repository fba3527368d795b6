/** Entities that a filter selects by their categories. Source: behaviour vmm.md 1.9 (MATCH_ALL, MATCH_ANY). */
import type { ValueOf } from '@hyperplane/contract'
import type { ImagesFilter } from '@hyperplane/contract/vmm/content/category-filter'
import type { CategoryAt } from '../policies/lifecycle.ts'

export type CategoryFilter = ValueOf<typeof ImagesFilter>

/** Takes a set, because an image with 1250 categories may meet hundreds of policies. */
export const matchesCategories = (filter: CategoryFilter, categoryExtIds: ReadonlySet<string>): boolean =>
  filter.type === 'CATEGORIES_MATCH_ALL'
    ? filter.categoryExtIds.every((extId) => categoryExtIds.has(extId))
    : filter.categoryExtIds.some((extId) => categoryExtIds.has(extId))

interface Categorised {
  readonly extId: string
  readonly categories?: readonly string[] | undefined
}

export const matchingClusters = (clusters: readonly Categorised[], filter: CategoryFilter): string[] =>
  clusters.filter(({ categories }) => matchesCategories(filter, new Set(categories))).map(({ extId }) => extId)

export const categoriesOf = (path: string, { categoryExtIds }: CategoryFilter): CategoryAt[] =>
  categoryExtIds.map((extId, index) => ({ path: `${path}/categoryExtIds[${index}]`, extId }))
