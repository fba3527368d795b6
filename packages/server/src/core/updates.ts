/** Entities from bodies; a PUT keeps stored fields that the body cannot express. Source: conventions 3, 13 (secrets), 15 (versions). */
import type { AnyResource, AnySchema, EntityOf } from '@hyperplane/contract'
import type { Ids } from './caller.ts'
import type { Document } from './document.ts'
import { chooseAlternative } from './input/validate.ts'

export type Changes<T> = { readonly [K in keyof T]?: T[K] | null }

/** Keeps only writable fields of the body; `derived` overrides them. The store seals secrets. */
export function created<R extends AnyResource, const D extends Partial<EntityOf<R>> = Record<never, never>>(
  { ids, tenantId }: { readonly ids: Pick<Ids, 'uuid'>; readonly tenantId: string },
  kind: R,
  body: Omit<EntityOf<R>, 'extId' | keyof D>,
  derived?: D,
): EntityOf<R> & D {
  const entity: Record<string, unknown> = { extId: derived?.extId ?? ids.uuid(), tenantId }
  Object.assign(entity, writableValue(kind.schema, body))
  for (const [name, value] of Object.entries(derived ?? {})) {
    if (value === undefined) delete entity[name]
    else entity[name] = value
  }
  return entity as EntityOf<R> & D
}

/** Without read-only and undeclared fields, also in nested objects and lists. */
export function writableValue(schema: AnySchema, given: unknown): unknown {
  if (schema.type === 'list' && Array.isArray(given)) return given.map((item) => writableValue(schema.items, item))
  if (schema.type === 'oneOf') {
    const [alternative, ...others] = chooseAlternative(schema.alternatives, given)
    return alternative === undefined || others.length > 0 ? given : writableValue(alternative, given)
  }
  if (schema.type !== 'object' || !isObject(given)) return given
  const writable = typeNameOf(given)
  for (const [name, field] of Object.entries(schema.fields)) {
    if (field.readOnly !== true && given[name] !== undefined) writable[name] = writableValue(field, given[name])
  }
  return writable
}

/** Absent fields are removed; read-only and undeclared fields of the body are ignored. */
export function replaced<R extends AnyResource>(
  kind: R,
  stored: EntityOf<R>,
  body: object,
  version: string,
): EntityOf<R> {
  const next: Record<string, unknown> = { ...(replacedValue(kind.schema, stored, body, version) as Document) }
  for (const [name, value] of Object.entries(stored as Document)) {
    if (kind.schema.fields[name] === undefined || name === 'extId' || name === 'tenantId') next[name] = value
  }
  return next as EntityOf<R>
}

/** For a replacing PUT: `null` for a field that the body leaves out. Objects are not merged. */
export function replacingChanges<R extends AnyResource>(kind: R, body: object, version: string): Changes<EntityOf<R>> {
  const isChanged = ([name, field]: [string, AnySchema]): boolean => {
    if (field.readOnly === true || field.immutable === true) return false
    if (field.since !== undefined && version < field.since) return false
    return field.secret !== true || (body as Document)[name] !== undefined
  }
  const changed = Object.entries(kind.schema.fields as Readonly<Record<string, AnySchema>>).filter(isChanged)
  return Object.fromEntries(changed.map(([name]) => [name, (body as Document)[name] ?? null])) as Changes<EntityOf<R>>
}

export function sparseChanges<R extends AnyResource>(kind: R, body: object): Changes<EntityOf<R>> {
  const writable = writableValue(kind.schema, body) as Document
  return Object.fromEntries(
    Object.entries(writable).filter(([name]) => kind.schema.fields[name]?.immutable !== true),
  ) as Changes<EntityOf<R>>
}

/** For `store.update`, which removes a field that is undefined. */
export const withoutNulls = <T>(changes: Changes<T>): Partial<T> =>
  Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, value ?? undefined])) as Partial<T>

/** A sparse PUT: objects named in `merged` are merged one level deep. `keepSecrets` handles secrets inside objects. */
export function sparselyUpdated<T extends object>(
  stored: T,
  body: object,
  merged: readonly (keyof T & string)[] = [],
): T {
  const next: Record<string, unknown> = { ...(stored as Document) }
  for (const [name, value] of Object.entries(body)) {
    const before = next[name]
    const isMerged = (merged as readonly string[]).includes(name) && typeof before === 'object'
    next[name] = isMerged ? { ...before, ...value } : value
  }
  return next as T
}

function replacedValue(schema: AnySchema, stored: unknown, given: unknown, version: string): unknown {
  if (schema.type === 'oneOf') {
    const [alternative] = chooseAlternative(schema.alternatives, given)
    const isSameType = isObject(given) && isObject(stored) && given['$objectType'] === stored['$objectType']
    return alternative === undefined
      ? given
      : replacedValue(alternative, isSameType ? stored : undefined, given, version)
  }
  if (schema.type !== 'object' || !isObject(given)) return given
  const next = typeNameOf(given)
  const before: Document = isObject(stored) ? stored : {}
  for (const [name, field] of Object.entries(schema.fields)) {
    const isNewer = field.since !== undefined && version < field.since
    const isOmitted = given[name] === undefined && (field.secret === true || field.immutable === true)
    const value =
      field.readOnly === true || isNewer || isOmitted
        ? before[name]
        : replacedValue(field, before[name], given[name], version)
    if (value !== undefined) next[name] = value
  }
  return next
}

const typeNameOf = ({ $objectType }: Document): Record<string, unknown> =>
  $objectType === undefined ? {} : { $objectType }

const isObject = (value: unknown): value is Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
