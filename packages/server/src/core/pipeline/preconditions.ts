/** Steps 12 and 13. Source: conventions 1, 2.4, 5. */

import type { AnySchema, ObjectSchema } from '@hyperplane/contract'
import { ApiError, refuseAll } from '../api-error.ts'
import { canonicalJson } from '../idempotency.ts'
import type { EntityTags } from '../ids/etag.ts'
import { frozen } from '../input/frozen.ts'
import { watchedInput } from '../recording/trace.ts'
import type { Targets } from './call.ts'
import { type Call, valueAt } from './call.ts'
import type { MutationMachinery } from './machinery.ts'
import { noteTag } from './traced.ts'

/** @throws ApiError 428, 412 */
export function checkTag(tags: EntityTags, { operation, input, request }: Call, { named }: Targets): void {
  const given = input.headers.ifMatch
  noteTag(request.trace, tags, given ?? (operation.ifMatch === 'required' ? '' : undefined), named)
  if (given === undefined) {
    if (operation.ifMatch === 'required')
      throw new ApiError('MISSING_ETAG_HEADER', { kind: named?.kind.title ?? operation.stem })
    return
  }
  if (named === undefined) return
  tags.require(
    given,
    tags.of(named.kind.kind, named.entity.extId, named.version),
    named.kind.title,
    named.kind.staleTag,
  )
}

/** Immutable fields that a PUT leaves out keep their stored values. Source: conventions 2.4, 3. */
export function completedInput({ operation, input }: Call, stored: unknown): Call['input'] {
  if (operation.verb !== 'update' || operation.resource?.sparsePut === true || operation.method === 'PATCH')
    return input
  if (stored === undefined || operation.body?.type !== 'object' || input.body === undefined) return input
  const body = withImmutable(operation.body, input.body, stored)
  return body === input.body ? input : frozen({ ...input, body })
}

/** A nested object that the body leaves out is cleared, not merged. */
function withImmutable(schema: ObjectSchema, body: unknown, stored: unknown): unknown {
  const added: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(schema.fields)) {
    const before = valueAt(stored, name)
    if (before === undefined) continue
    const given = valueAt(body, name)
    if (field.immutable === true) {
      if (given === undefined) added[name] = before
    } else if (field.type === 'object' && field.readOnly !== true && given !== undefined) {
      const completed = withImmutable(field, given, before)
      if (completed !== given) added[name] = completed
    }
  }
  return Object.keys(added).length === 0 ? body : { ...(body as object), ...added }
}

/** @throws ApiError 400 with all faults, and `found` */
export function checkRules<D>(
  { rules, world }: MutationMachinery<D>,
  call: Call,
  stored: unknown,
  found: readonly ApiError[] = [],
): void {
  const { operation, caller, version } = call
  const immutable = immutableFaults(call, stored)
  const input = watchedInput(call.request.trace, call.input)
  const broken = rules.get(operation.key)?.(input, { operation, caller, version, clock: world.clock }) ?? []
  refuseAll([...found, ...immutable, ...broken])
}

type Field = readonly [name: string, schema: AnySchema]

function immutableFaults({ operation, input }: Call, stored: unknown): ApiError[] {
  const { verb, body, resource } = operation
  if (verb !== 'update' || stored === undefined || body?.type !== 'object') return []
  // Older interfaces use other names for some fields; their handlers compare those.
  const isStored = ([name]: Field): boolean => resource === undefined || resource.schema.fields[name] !== undefined
  const fields = Object.entries(body.fields).filter(isStored)
  return faultsIn(fields, input.body, stored, '')
}

/** An immutable field that the entity was created without cannot be added. */
function faultsIn(fields: readonly Field[], body: unknown, stored: unknown, path: string): ApiError[] {
  return fields.flatMap(([name, field]) => {
    const given = valueAt(body, name)
    const before = valueAt(stored, name)
    const attributePath = `${path}${name}`
    if (field.immutable !== true) {
      const mayHold = field.type === 'object' && field.readOnly !== true && given !== undefined
      return mayHold ? faultsIn(Object.entries(field.fields), given, before, `${attributePath}/`) : []
    }
    if (given === undefined || isSame(given, before)) return []
    return [new ApiError('IMMUTABLE_ATTRIBUTE', { attributePath, expected: show(before), found: show(given) })]
  })
}

/** Clients send `false` for a switch that an entity does not have. */
function isSame(given: unknown, before: unknown): boolean {
  if (canonicalJson(given) === canonicalJson(before)) return true
  return before === undefined && given === false
}

function show(value: unknown): string {
  if (value === undefined) return 'no value'
  return (typeof value === 'string' ? `"${value}"` : JSON.stringify(value)).slice(0, 100)
}
