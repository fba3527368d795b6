import type { AnyResource, EntityOf, Operation, Resource } from '@hyperplane/contract'
import {
  and,
  applySelection,
  equals,
  evaluateFilter,
  follow,
  groupDocuments,
  not,
  type ResolvedPath,
  resolvePath,
  type Selection,
  sortBy,
  type TypedFilter,
  type TypedOrderby,
} from '../odata/index.ts'
import type { Query, Reader } from '../store/store.ts'
import { textsAt } from '../store/tables.ts'
import { matchesScope } from './access/scope.ts'
import { comparesUnseenNames, expandedWithoutUnseenNames, withoutUnseenNames } from './access/unseen-names.ts'
import { ApiError } from './api-error.ts'
import type { ReadContext } from './context.ts'
import { Derivation } from './derivation.ts'
import type { Document } from './document.ts'
import type { ListResult, Presenter } from './handlers.ts'
import type { ExpandOption, RequestInput } from './input/request-input.ts'
import type { Scope } from './ports.ts'

const maximumExpanded = 100

export const both = (a: TypedFilter | undefined, b: TypedFilter | undefined): TypedFilter | undefined =>
  a === undefined ? b : b === undefined ? a : and(a, b)

export const filterOf = (scope: Scope): TypedFilter | undefined => (scope === 'all' ? undefined : scope)

/** `any`: the operation, known only at run time, names the kind of the items. */
export async function standardList(ctx: ReadContext, request: RequestInput, scope: Scope): Promise<ListResult<any>> {
  const { operation } = ctx
  const resource = operation.resource as Resource
  const { query } = request
  const parent = resource.parent
  const parentId = parent === undefined ? undefined : request.path[parent.param]
  const parentFilter =
    parent === undefined || parentId === undefined ? undefined : equals(pathOf(resource, parent.field), parentId)
  const filter = both(query.filter, parentFilter)
  if (await comparesUnseenNames(ctx, query)) {
    const rows = await ctx.store.find(resource, {
      isBounded: true,
      filter: parentFilter,
      scope: filterOf(scope),
    })
    return filteredOrGrouped(await withoutUnseenNames(ctx, rows), request)
  }
  if (query.groupby !== undefined) {
    const all = await ctx.store.find(resource, {
      isBounded: true,
      filter,
      scope: filterOf(scope),
    })
    const groups = groupDocuments(query.groupby, all)
    return { entities: groups.slice(query.page * query.limit, (query.page + 1) * query.limit), total: groups.length }
  }
  const limit = Math.min(query.limit, operation.maximumItems ?? query.limit)
  const orderby = query.orderby ?? defaultOrder(operation, resource)
  const page = await ctx.store.page(resource, {
    filter,
    scope: filterOf(scope),
    orderby,
    newestFirst: resource.newestFirst === true,
    offset: query.page * limit,
    limit,
  })
  const truncated = operation.maximumItems !== undefined && query.limit > limit && page.total > (query.page + 1) * limit
  return { entities: page.entities, total: page.total, ...(truncated ? { truncated } : {}) }
}

/** As `listOf`, with `$apply`. */
export function filteredOrGrouped(
  items: readonly Document[],
  request: Pick<RequestInput, 'query'>,
): ListResult<Document> {
  const { filter, groupby, page, limit } = request.query
  if (groupby === undefined) return listOf(items, request)
  const matching = filter === undefined ? items : items.filter((item) => evaluateFilter(filter, item) === true)
  const groups = groupDocuments(groupby, matching)
  return { entities: groups.slice(page * limit, (page + 1) * limit), total: groups.length }
}

function defaultOrder({ orderedBy }: Operation, resource: Resource): readonly TypedOrderby[] | undefined {
  if (orderedBy === undefined) return undefined
  const { type } = pathOf(resource, orderedBy)
  return [{ field: { kind: 'field', from: 0, names: orderedBy.split('/'), type }, descending: false }]
}

export function listOf<T extends object>(
  items: readonly T[],
  request: Pick<RequestInput, 'query'>,
  options: { paged?: boolean } = {},
): ListResult<T> {
  const { filter, orderby, page, limit } = request.query
  const matching = filter === undefined ? [...items] : items.filter((item) => evaluateFilter(filter, item) === true)
  if (orderby !== undefined) matching.sort(sortBy(orderby) as (a: T, b: T) => number)
  const entities = options.paged === false ? matching : matching.slice(page * limit, (page + 1) * limit)
  return { entities, total: matching.length }
}

export async function visibleRows<R extends AnyResource>(ctx: ReadContext, kind: R): Promise<EntityOf<R>[]> {
  const scope = await ctx.scopeOf(kind.kind)
  return scope === 'none' ? [] : ctx.store.find(kind, { scope })
}

/** @param attribute holds the id @throws ApiError 404 */
export async function rowWithId<R extends AnyResource>(
  store: Reader,
  kind: R,
  extId: string,
  attribute = 'extId',
): Promise<EntityOf<R>> {
  const row = await store.get(kind, extId)
  if (row === undefined) throw notFound(kind, extId, attribute)
  return row
}

/** For kinds without rows. @throws ApiError 404 */
export function itemWithId<T extends { readonly extId?: string | undefined }>(
  items: readonly T[],
  kind: AnyResource,
  extId: string,
): T {
  const found = items.find((item) => item.extId === extId)
  if (found === undefined) throw notFound(kind, extId, 'extId')
  return found
}

/** Includes internal fields. @throws Error for an unknown path: a mistake in the code */
export function pathOf(resource: Resource, path: string): ResolvedPath {
  const resolved = resolvePath(withInternal(resource), path)
  if (resolved === undefined) throw new Error(`${resource.kind} has no field ${path}`)
  return resolved
}

/** Entities with a value in an indexed field, in its order: ordered by age, SQLite would scan the table. */
export function havingValue(resource: Resource, path: string): Pick<Query, 'filter' | 'orderby'> {
  const resolved = pathOf(resource, path)
  return { filter: not(equals(resolved, null)), orderby: [{ field: follow(resolved, 0, 0).field, descending: false }] }
}

export const withInternal = (resource: Resource): Resource['schema'] => {
  let schema = internalSchemas.get(resource)
  if (schema === undefined) {
    schema = { ...resource.schema, fields: { ...resource.schema.fields, ...resource.internal } }
    internalSchemas.set(resource, schema)
  }
  return schema
}
const internalSchemas = new WeakMap<Resource, Resource['schema']>()

interface Presented {
  readonly entities: readonly Document[]
  readonly truncated: boolean
  /** Indexes of the entities with a truncated collection. */
  readonly truncatedIndexes: readonly number[]
}

export async function present<D>(
  ctx: ReadContext<D>,
  entities: readonly Document[],
  request: RequestInput,
  presenters: ReadonlyMap<string, readonly Presenter<D>[]>,
  single: boolean,
): Promise<Presented> {
  const { operation } = ctx
  const expand = new Set(request.query.expand.map((item) => item.name))
  const presentedAs = async (kind: string, entities: readonly Document[], options: Parameters<Presenter<D>>[2]) => {
    let shown = entities
    for (const presenter of presenters.get(kind) ?? [])
      shown = (await presenter(ctx, shown, options)) as readonly Document[]
    return shown
  }
  let shown = await presentedAs(operation.resource?.kind ?? '', entities, { single, expand })
  const cut = new Set<number>()
  const related: Related = (kind, rows) => presentedAs(kind, rows, { single: false, expand: new Set() })
  for (const item of request.query.expand) shown = await expandOne(ctx, operation, shown, item, cut, related)
  shown = await withoutUnseenNames(ctx, shown)
  const { select } = request.query
  // Expanded properties stay even if they are not selected.
  const expanded = request.query.expand.map((item) => operation.expand?.[item.name]?.into ?? item.name)
  if (select !== undefined) shown = shown.map((entity) => selected(select, entity, expanded))
  return { entities: shown, truncated: cut.size > 0, truncatedIndexes: [...cut].sort((a, b) => a - b) }
}

const selections = new WeakMap<Selection, Derivation<Document, Document>>()

function selected(selection: Selection, entity: Document, expanded: readonly string[]): Document {
  let derivation = selections.get(selection)
  if (derivation === undefined) selections.set(selection, (derivation = new Derivation()))
  return derivation.of(entity, [], () => applySelection(selection, entity, expanded))
}

/** With the values that lists of the kind derive. */
type Related = (kind: string, rows: readonly Document[]) => Promise<readonly Document[]>

async function expandOne(
  ctx: ReadContext,
  operation: Operation,
  entities: readonly Document[],
  item: ExpandOption,
  cut: Set<number>,
  presented: Related,
): Promise<readonly Document[]> {
  const declared = operation.expand?.[item.name]
  const property = declared?.into ?? item.name
  const { filter, orderby, select } = item
  const nested = (values: readonly Document[], index: number): readonly Document[] => {
    let shown = filter === undefined ? values : values.filter((value) => evaluateFilter(filter, value) === true)
    if (orderby !== undefined) shown = [...shown].sort(sortBy(orderby))
    if (shown.length > maximumExpanded) cut.add(index)
    shown = shown.slice(0, maximumExpanded)
    return select === undefined ? shown : shown.map((value) => applySelection(select, value))
  }
  if (declared?.kind === undefined || declared.by === undefined) {
    // Filled by the presenter; only the nested options are left to apply.
    return entities.map((entity, index) =>
      Array.isArray(entity[property]) ? { ...entity, [property]: nested(entity[property], index) } : entity,
    )
  }
  const path = declared.by.split('/')
  const idsOf = (entity: Document): string[] => [...textsAt(entity, path)]
  const ids = [...new Set(entities.flatMap(idsOf))]
  const scope = await ctx.scopeOf(declared.kind)
  const resource = ctx.kinds.resource(declared.kind)
  if (scope === 'none' || resource === undefined) return entities
  const found = new Map<string, Document>()
  const visible = (await ctx.store.getMany(resource, ids)).filter((related) => matchesScope(scope, related))
  const shown = await presented(declared.kind, visible)
  for (const related of await expandedWithoutUnseenNames(ctx, resource.schema, shown)) {
    found.set(related['extId'] as string, related)
  }
  const many = entities.some((entity) =>
    Array.isArray(
      path.reduce<unknown>((at, name) => (Array.isArray(at) ? at : (at as Document | undefined)?.[name]), entity),
    ),
  )
  return entities.map((entity, index) => {
    const related = nested(
      idsOf(entity).flatMap<Document>((id) => found.get(id) ?? []),
      index,
    )
    if (related.length === 0) return entity
    return { ...entity, [property]: many ? related : related[0] }
  })
}

/** With the kind's own error code, if any. A string names something that is no kind. */
export function notFound(kind: AnyResource | string, id: string, attribute: string): ApiError {
  if (typeof kind === 'string') return new ApiError('ENTITY_NOT_FOUND', { kind, id, attribute })
  return new ApiError((kind.notFound ?? 'ENTITY_NOT_FOUND') as 'ENTITY_NOT_FOUND', { kind: kind.title, id, attribute })
}
