import type { AnySchema, EnumerationSchema, ObjectSchema, TextSchema } from '@hyperplane/contract/schema'

/** `opaque`: comparable only with null (free JSON, maps, objects without an id). */
export type FieldType = 'text' | 'uuid' | 'taskId' | 'number' | 'boolean' | 'timestamp' | 'enumeration' | 'opaque'

export interface ResolvedPath {
  /**
   * Split where the path crosses a collection: `disks/backingInfo/extId` is `[['disks'], ['backingInfo', 'extId']]`; `uris` is `[['uris'],
   * []]`.
   */
  readonly hops: readonly (readonly string[])[]
  readonly type: FieldType
  readonly values?: readonly string[]
  readonly named?: TextSchema['named']
}

/** The last of `hops` ends at the array. */
export interface ResolvedCollection {
  readonly hops: readonly (readonly string[])[]
  readonly element: AnySchema
}

/** For paths in the code base. @throws Error when there is no such field */
export function resolvePath(schema: ObjectSchema, path: string): ResolvedPath {
  const found = resolveNames(schema, path.split('/'))
  if (found === undefined) throw new Error(`${schema.objectType ?? 'the schema'} has no field ${path} to compare`)
  return found
}

/** A path that ends at an object means its `filteredBy` field, or its `extId`. Secrets are not found. */
export function resolveNames(schema: AnySchema, names: readonly string[]): ResolvedPath | undefined {
  const found = walk(schema, names)
  if (found === undefined) return undefined
  const hops = found.hops.map((hop) => [...hop])
  let end = found.schema
  for (let items = itemsOf(end); items !== undefined; items = itemsOf(end)) {
    hops.push([])
    end = items
  }
  const standing = (end.type === 'object' ? end.filteredBy : undefined) ?? 'extId'
  const leaf = fieldOf(end, standing)
  const isText = leaf === undefined && standing !== 'extId'
  if (leaf === undefined && !isText) return { hops, ...leafOf(end) }
  hops.at(-1)!.push(standing)
  if (leaf === undefined) return { hops, type: 'text' }
  return { hops, ...leafOf(leaf) }
}

export function resolveCollection(schema: AnySchema, names: readonly string[]): ResolvedCollection | undefined {
  const found = walk(schema, names)
  const element = found && itemsOf(found.schema)
  return element && { hops: found.hops, element }
}

function walk(schema: AnySchema, names: readonly string[]): { hops: string[][]; schema: AnySchema } | undefined {
  // `!` below and in `resolve…`: there is always a last hop.
  const hops: string[][] = [[]]
  let at = schema
  for (const name of names) {
    for (let items = itemsOf(at); items !== undefined; items = itemsOf(at)) {
      hops.push([])
      at = items
    }
    const next = fieldOf(at, name)
    if (next === undefined || next.secret === true) return undefined
    hops.at(-1)!.push(name)
    at = next
  }
  return { hops, schema: at }
}

/** Merges alternatives that are all objects or all collections. */
function fieldOf(schema: AnySchema, name: string): AnySchema | undefined {
  if (schema.type === 'object') return Object.hasOwn(schema.fields, name) ? schema.fields[name] : undefined
  if (schema.type !== 'oneOf' || !schema.alternatives.every(isObject)) return undefined
  const found = schema.alternatives.map((each) => fieldOf(each, name)).filter((each) => each !== undefined)
  if (found.some((each) => each.secret)) return undefined
  return found.length < 2 ? found[0] : { type: 'oneOf', alternatives: found }
}

function itemsOf(schema: AnySchema): AnySchema | undefined {
  if (schema.type === 'list') return schema.items.secret ? undefined : schema.items
  if (schema.type !== 'oneOf') return undefined
  const found = schema.alternatives.map(itemsOf)
  return found.every((each) => each !== undefined) ? { type: 'oneOf', alternatives: found } : undefined
}

const isObject = (schema: AnySchema): boolean =>
  schema.type === 'object' || (schema.type === 'oneOf' && schema.alternatives.every(isObject))

function leafOf(schema: AnySchema): Pick<ResolvedPath, 'type' | 'values' | 'named'> {
  switch (schema.type) {
    case 'text':
      return { type: 'text', ...(schema.named && { named: schema.named }) }
    case 'integer':
      return { type: 'number' }
    case 'enumeration':
      return { type: 'enumeration', values: schema.values }
    case 'uuid':
    case 'taskId':
    case 'number':
    case 'boolean':
    case 'timestamp':
      return { type: schema.type }
    case 'oneOf':
      return common(schema.alternatives)
    default:
      return { type: 'opaque' }
  }
}

function common(alternatives: readonly AnySchema[]): Pick<ResolvedPath, 'type' | 'values' | 'named'> {
  const [first, ...others] = alternatives.map(leafOf)
  if (first === undefined || others.some((other) => other.type !== first.type)) return { type: 'opaque' }
  if (first.type !== 'enumeration') return first
  const values = (alternatives as readonly EnumerationSchema[]).flatMap((each) => leafOf(each).values ?? [])
  return { type: 'enumeration', values: [...new Set(values)] }
}
