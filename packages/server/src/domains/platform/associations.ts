/** Associations of a category, derived from references and never stored. Source: behaviour platform.md 1. */

import type { AnyResource } from '@hyperplane/contract'
import type { AssociationDetail, AssociationSummary, Category } from '@hyperplane/contract/platform/category'
import { derivedId } from '../../core/ids/named-id.ts'
import type { TypedFilter } from '../../odata/index.ts'
import type { ReadContext } from '../context.ts'

type ResourceType = NonNullable<NonNullable<(typeof AssociationSummary)['is']>['resourceType']>
type Summary = NonNullable<(typeof AssociationSummary)['is']>
type Detail = NonNullable<(typeof AssociationDetail)['is']>

const entityTypes: ReadonlySet<string> = new Set<ResourceType>([
  'VM',
  'MH_VM',
  'IMAGE',
  'SUBNET',
  'CLUSTER',
  'HOST',
  'VOLUMEGROUP',
  'HOST_NIC',
  'VIRTUAL_NIC',
  'VM_TEMPLATE',
  'VIRTUAL_NETWORK',
  'REPORT',
  'MARKETPLACE_ITEM',
  'BLUEPRINT',
  'APP',
  'BUNDLE',
])
const groupOf = (type: ResourceType): 'ENTITY' | 'POLICY' => (entityTypes.has(type) ? 'ENTITY' : 'POLICY')

/** One more than a response shows, to detect truncation. */
const maximumDetails = 101

export const userTypeOf = ({ kinds }: Pick<ReadContext, 'kinds'>, kind: string): string =>
  kinds.resource(kind)?.associationType ?? kind

/** Only entities that the caller may see. */
export async function presentAssociations(
  ctx: ReadContext,
  categories: readonly Category[],
  wanted: { readonly expand: ReadonlySet<string> },
): Promise<readonly Category[]> {
  ctx.followsStore()
  const counts = wanted.expand.has('associations')
  const details = wanted.expand.has('detailedAssociations')
  if (!counts && !details) return categories
  const shown: Category[] = []
  for (const category of categories) {
    const summaries = await summariesOf(ctx, category.extId)
    shown.push({
      ...category,
      ...(counts ? { associations: summaries.map(({ kind: _, ...summary }) => summary) } : {}),
      ...(details ? { detailedAssociations: await detailsOf(ctx, category.extId, summaries) } : {}),
    })
  }
  return shown
}

async function summariesOf(ctx: ReadContext, categoryId: string): Promise<(Summary & { kind: string })[]> {
  const summaries: (Summary & { kind: string })[] = []
  for (const [kind, all] of await ctx.store.referrerCounts('Category', categoryId, { publishedOnly: true })) {
    const resource = ctx.kinds.resource(kind)
    const resourceType = resource?.associationType as ResourceType | undefined
    if (resourceType === undefined || resource === undefined) continue
    const scope = await ctx.scopeOf(kind)
    if (scope === 'none') continue
    const count = scope === undefined ? all : await countWithin(ctx, resource, categoryId, scope)
    if (count > 0) summaries.push({ kind, categoryId, resourceType, resourceGroup: groupOf(resourceType), count })
  }
  return summaries.sort((a, b) => ((a.resourceType as string) < (b.resourceType as string) ? -1 : 1))
}

/** Within a scope the store examines every referrer, within the time limit of a query. */
async function countWithin(
  ctx: ReadContext,
  resource: AnyResource,
  categoryId: string,
  scope: TypedFilter,
): Promise<number> {
  const refersTo = { kind: 'Category', extId: categoryId }
  return (await ctx.store.page(resource, { scope, refersTo, limit: 0 })).total
}

async function detailsOf(
  ctx: ReadContext,
  categoryId: string,
  summaries: readonly (Summary & { kind: string })[],
): Promise<Detail[]> {
  const details: Detail[] = []
  for (const { kind, resourceType, resourceGroup } of summaries) {
    const room = maximumDetails - details.length
    if (room === 0) break
    for (const resourceId of await carriersOf(ctx, kind, categoryId, room)) {
      const extId = derivedId('association', categoryId, resourceId)
      details.push({
        extId,
        categoryId,
        ...(resourceType && { resourceType }),
        ...(resourceGroup && { resourceGroup }),
        resourceId,
      })
    }
  }
  return details
}

async function carriersOf(
  ctx: ReadContext,
  kind: string,
  categoryId: string,
  limit: number,
): Promise<readonly string[]> {
  const scope = await ctx.scopeOf(kind)
  const resource = ctx.kinds.resource(kind)
  if (scope === 'none' || resource === undefined) return []
  if (scope === undefined) {
    // An entity may refer to the category in two fields, hence twice the limit.
    const rows = await ctx.store.referrers('Category', categoryId, 2 * limit, { from: kind, publishedOnly: true })
    return [...new Set(rows.map((row) => row.extId))].slice(0, limit)
  }
  const refersTo = { kind: 'Category', extId: categoryId }
  const found = await ctx.store.find(resource, { scope, refersTo, limit, isBounded: true })
  return found.map((entity) => entity.extId)
}
