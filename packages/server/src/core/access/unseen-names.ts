/** Removes fields that repeat the name of an entity that the caller may not see. Source: behaviour iam.md 9.4. */

import type { AnySchema, Operation } from '@hyperplane/contract'
import type { TypedFilter, Value } from '../../odata/index.ts'
import type { ReadContext } from '../context.ts'
import type { Document } from '../document.ts'
import type { QueryOptions } from '../input/request-input.ts'
import { matchesScope } from './scope.ts'

interface RepeatedName {
  readonly path: readonly string[]
  readonly kind: string
  readonly by: readonly string[]
}

const bySchema = new WeakMap<AnySchema, readonly RepeatedName[]>()

/** Fields declared `visibleWith` another entity, at any depth outside collections. */
function repeatedIn(schema: AnySchema): readonly RepeatedName[] {
  let found = bySchema.get(schema)
  if (found === undefined) {
    const fields: RepeatedName[] = []
    const visit = (at: AnySchema, path: readonly string[]): void => {
      if (at.visibleWith !== undefined)
        fields.push({ path, kind: at.visibleWith.kind, by: at.visibleWith.by.split('/') })
      else if (at.type === 'object')
        for (const [name, field] of Object.entries(at.fields)) visit(field, [...path, name])
    }
    visit(schema, [])
    bySchema.set(schema, (found = fields))
  }
  return found
}

const byOperation = new WeakMap<Operation, readonly RepeatedName[]>()

function repeatedBy(operation: Operation): readonly RepeatedName[] {
  let found = byOperation.get(operation)
  if (found === undefined) {
    const item = operation.answer?.type === 'list' ? operation.answer.items : operation.answer
    const expanded = Object.entries(operation.expand ?? {}).flatMap(([name, { into = name, shape }]) =>
      shape?.visibleWith === undefined
        ? []
        : [{ path: [into], kind: shape.visibleWith.kind, by: shape.visibleWith.by.split('/') }],
    )
    const expandedEntities = Object.entries(operation.expand ?? {}).flatMap(([name, { kind, into = name }]) =>
      kind ? [into] : [],
    )
    const own =
      item === undefined ? [] : repeatedIn(item).filter(({ path: [first = ''] }) => !expandedEntities.includes(first))
    byOperation.set(operation, (found = [...own, ...expanded]))
  }
  return found
}

export const withoutUnseenNames = (ctx: ReadContext, items: readonly Document[]): Promise<readonly Document[]> =>
  without(ctx, repeatedBy(ctx.operation), items)

export const expandedWithoutUnseenNames = (
  ctx: ReadContext,
  schema: AnySchema,
  items: readonly Document[],
): Promise<readonly Document[]> => without(ctx, repeatedIn(schema), items)

async function without(
  ctx: ReadContext,
  fields: readonly RepeatedName[],
  items: readonly Document[],
): Promise<readonly Document[]> {
  let shown = items
  for (const { path, kind, by } of fields) {
    const scope = await ctx.scopeOf(kind)
    if (scope === undefined) continue
    const ids = [...new Set(items.map((item) => valueAt(item, by)).filter((id) => typeof id === 'string'))]
    const resource = ctx.kinds.resource(kind)
    const related = scope === 'none' || resource === undefined ? [] : await ctx.store.getMany(resource, ids)
    const visible = new Set(related.filter((entity) => matchesScope(scope, entity)).map((entity) => entity.extId))
    shown = shown.map((item) => (visible.has(valueAt(item, by) as string) ? item : withoutField(item, path)))
  }
  return shown
}

const valueAt = (value: unknown, path: readonly string[]): unknown =>
  path.reduce((at, name) => (at as Document | undefined)?.[name], value)

function withoutField(value: Document, [name = '', ...rest]: readonly string[]): Document {
  if (value?.[name] === undefined) return value
  if (rest.length > 0) return { ...value, [name]: withoutField(value[name] as Document, rest) }
  const { [name]: _, ...others } = value
  return others
}

/** Over stored values, a filter, order or grouping would reveal hidden names by the matching rows. */
export async function comparesUnseenNames(
  ctx: ReadContext,
  { filter, orderby = [], groupby = [] }: QueryOptions,
): Promise<boolean> {
  const named = new Set([...orderby.map(({ field }) => field), ...groupby].map(({ names }) => names.join('/')))
  if (filter !== undefined) addNames(filter, named)
  for (const { path, kind } of repeatedBy(ctx.operation)) {
    const isNamed = [...named].some((name) => `${name}/`.startsWith(`${path.join('/')}/`))
    if (isNamed && (await ctx.scopeOf(kind)) !== undefined) return true
  }
  return false
}

function addNames(filter: TypedFilter, names: Set<string>): void {
  const add = (value: Value): void => {
    if (value.kind === 'field') names.add(value.names.join('/'))
    else if (value.kind === 'call') add(value.argument)
  }
  if (filter.kind === 'and' || filter.kind === 'or') for (const term of filter.terms) addNames(term, names)
  else if (filter.kind === 'not') addNames(filter.term, names)
  else if (filter.kind === 'compare') for (const side of [filter.left, filter.right]) add(side)
  else if (filter.kind === 'in') add(filter.value)
  else if (filter.kind === 'match') for (const side of [filter.text, filter.pattern]) add(side)
  else if (filter.kind === 'truth') add(filter.field)
  else if (filter.kind === 'quantified') {
    names.add(filter.names.join('/'))
    if (filter.body !== undefined) addNames(filter.body, names)
  }
}
