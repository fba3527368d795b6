/** Steps 12 and 13. Source: conventions 1, 2.4, 5. */

import type { ObjectSchema } from '@hyperplane/contract'
import { ApiError, refuseAll } from '../api-error.ts'
import { canonicalJson } from '../idempotency.ts'
import type { EntityTags } from '../ids/etag.ts'
import { frozen } from '../input/frozen.ts'
import { immutableFields } from '../input/validate.ts'
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

function immutableFaults({ operation, input }: Call, stored: unknown): ApiError[] {
  if (operation.verb !== 'update' || stored === undefined || operation.body?.type !== 'object') return []
  const faults: ApiError[] = []
  for (const name of immutableFields(operation.body)) {
    const given = valueAt(input.body, name)
    const before = valueAt(stored, name)
    if (before === undefined || given === undefined || canonicalJson(given) === canonicalJson(before)) continue
    const show = (value: unknown): string =>
      (typeof value === 'string' ? `"${value}"` : JSON.stringify(value)).slice(0, 100)
    faults.push(
      new ApiError('IMMUTABLE_ATTRIBUTE', { attributePath: name, expected: show(before), found: show(given) }),
    )
  }
  return faults
}
