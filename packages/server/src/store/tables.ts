/** One table per kind: the document, and indexed columns for scalars that are listed, unique or used by scopes. */
import type { AnySchema, Operation, Resource } from '@hyperplane/contract'

export interface Column {
  readonly path: string
  readonly name: string
  readonly affinity: 'TEXT' | 'INTEGER' | 'REAL'
  /** Case-insensitive: in lower case. */
  readonly folded: boolean
}

export interface ReferencePath {
  readonly path: readonly string[]
  readonly kind: string
}

export interface Table {
  readonly resource: Resource
  readonly name: string
  readonly columns: readonly Column[]
  /** For queries; folded columns serve uniqueness only. */
  readonly columnOf: ReadonlyMap<string, string>
  readonly unique: readonly {
    readonly columns: readonly string[]
    readonly error?: string
    readonly fields: readonly string[]
  }[]
  readonly references: readonly ReferencePath[]
  readonly secrets: readonly (readonly string[])[]
}

export interface Reference {
  readonly kind: string
  readonly extId: string
  readonly path: string
}

export function* eachReference(table: Table, document: unknown): Generator<Reference> {
  for (const { kind, path } of table.references)
    for (const extId of textsAt(document, path)) yield { kind, extId, path: path.join('/') }
}

export function* textsAt(value: unknown, path: readonly string[]): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield* textsAt(item, path)
  else if (path.length === 0) {
    if (typeof value === 'string') yield value
  } else if (typeof value === 'object' && value !== null)
    yield* textsAt((value as Record<string, unknown>)[path[0] as string], path.slice(1))
}

export function tablesOf(resources: readonly Resource[], operations: readonly Operation[]): ReadonlyMap<string, Table> {
  const listed = new Map<string, Set<string>>()
  for (const operation of operations) {
    const kind = operation.resource?.kind
    if (kind === undefined) continue
    const paths = listed.get(kind) ?? new Set()
    listed.set(kind, paths)
    for (const path of [...(operation.filter ?? []), ...(operation.orderby ?? []), ...(operation.apply ?? [])])
      paths.add(path)
    if (operation.own !== undefined) paths.add(operation.own)
  }
  const kinds = new Set<string | undefined>(resources.map((resource) => resource.objectType))
  const tables = new Map<string, Table>()
  for (const resource of resources) {
    if (resource.derived !== true)
      tables.set(resource.kind, tableOf(resource, listed.get(resource.kind) ?? new Set(), kinds))
  }
  return tables
}

function tableOf(resource: Resource, listed: ReadonlySet<string>, kinds: ReadonlySet<string | undefined>): Table {
  const wanted = new Set<string>([...listed, ...resource.indexed])
  for (const path of Object.values(resource.iam?.attributes ?? {})) wanted.add(path)
  if (resource.parent !== undefined) wanted.add(resource.parent.field)
  for (const rule of resource.unique) for (const field of rule.fields) wanted.add(field)
  wanted.delete('extId')

  const columns: Column[] = []
  const columnOf = new Map<string, string>([['extId', 'ext_id']])
  for (const listedPath of [...wanted].sort()) {
    // A path that ends at an object means its id, as in filters: `parentTask eq '…'`.
    const path = scalarAt(resource, listedPath.split('/')) === undefined ? `${listedPath}/extId` : listedPath
    const schema = scalarAt(resource, path.split('/'))
    if (schema === undefined || columnOf.has(path)) continue
    const name = `c_${snake(path)}`
    columns.push({ path, name, affinity: affinityOf(schema), folded: false })
    columnOf.set(path, name)
  }
  const unique = resource.unique.map((rule) => ({
    columns: rule.fields.map((field) => {
      if (rule.ignoreCase !== true) return `c_${snake(field)}`
      const name = `f_${snake(field)}`
      if (!columns.some((column) => column.name === name)) {
        columns.push({ path: field, name, affinity: 'TEXT', folded: true })
      }
      return name
    }),
    fields: rule.fields,
    error: rule.error,
  }))
  const references: ReferencePath[] = []
  const secrets: string[][] = []
  const visit = (schema: AnySchema, path: readonly string[]): void => {
    // Answers only: the expanded form of another kind is never stored.
    if (path.length > 0 && schema.type === 'object' && schema.readOnly === true && kinds.has(schema.objectType)) return
    if (schema.secret === true) secrets.push([...path])
    if (schema.type === 'uuid' && schema.refersTo !== undefined)
      references.push({ path: [...path], kind: schema.refersTo })
    if (schema.type === 'object')
      for (const [name, field] of Object.entries(schema.fields)) visit(field, [...path, name])
    else if (schema.type === 'list') visit(schema.items, path)
    else if (schema.type === 'oneOf') for (const alternative of schema.alternatives) visit(alternative, path)
  }
  visit(resource.schema, [])
  for (const [name, field] of Object.entries(resource.internal)) visit(field, [name])
  return {
    resource,
    name: tableName(resource),
    columns,
    columnOf,
    unique,
    references: distinct(references),
    secrets: distinct(secrets),
  }
}

function distinct<T>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()]
}

/** undefined: the path crosses a collection or alternatives. */
function scalarAt(resource: Resource, path: readonly string[]): AnySchema | undefined {
  let schema: AnySchema | undefined = resource.internal[path[0] as string] ?? resource.schema.fields[path[0] as string]
  for (const name of path.slice(1)) {
    if (schema?.type !== 'object') return undefined
    schema = schema.fields[name]
  }
  if (schema === undefined || ['list', 'object', 'oneOf', 'map', 'anything'].includes(schema.type)) return undefined
  return schema
}

function affinityOf(schema: AnySchema): Column['affinity'] {
  if (schema.type === 'integer' || schema.type === 'boolean') return 'INTEGER'
  if (schema.type === 'number') return 'REAL'
  return 'TEXT'
}

export const snake = (text: string): string =>
  text
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toLowerCase()

const tableName = (resource: Resource): string => snake(resource.objectType.replace(/\.v\d+(?=\.)/, ''))
