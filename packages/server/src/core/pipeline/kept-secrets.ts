/** Updates keep secrets inside an object that is sealed as a whole (credentials of a bucket). Source: behaviour conventions 13. */
import { type AnySchema, secretMask, walk } from '@hyperplane/contract'
import { type ApiError, invalid } from '../api-error.ts'
import type { AnyEntity } from '../document.ts'
import { canonicalJson } from '../idempotency.ts'
import { frozen } from '../input/frozen.ts'
import { chooseAlternative } from '../input/validate.ts'
import type { SecretReader } from '../world.ts'
import { type Call, valueAt } from './call.ts'

export interface Completed<T> {
  readonly value: T
  readonly faults: readonly ApiError[]
}

export function withKeptSecrets(
  { operation, input }: Pick<Call, 'operation' | 'input'>,
  stored: AnyEntity | undefined,
  secrets: SecretReader,
): Completed<Call['input']> {
  const { body: schema, resource, verb } = operation
  if (verb !== 'update' || resource === undefined || schema === undefined || input.body === undefined || !seals(schema))
    return { value: input, faults: [] }
  const open = (path: string, sealed: unknown): unknown => {
    const json = sealed === undefined ? undefined : secrets.open(resource.kind, stored?.extId ?? '', path, sealed)
    return json === undefined ? undefined : JSON.parse(json)
  }
  const { value, faults } = filledBody(schema, input.body, stored, open)
  return { value: value === input.body ? input : frozen({ ...input, body: value }), faults }
}

/** Stored secrets replace masks and absent required ones; a sealed object without other changes is left out. */
export function filledBody(
  schema: AnySchema,
  body: unknown,
  stored: unknown,
  open: (path: string, sealed: unknown) => unknown,
): Completed<unknown> {
  const faults: ApiError[] = []
  /** A sealed object that sends a secret is a change, equal or not: otherwise an update would confirm a guessed secret. */
  let sendsSecret = false
  const fill = (at: AnySchema, given: unknown, stored: unknown, path: string, isSealed: boolean): unknown => {
    if (at.type === 'oneOf') {
      const [alternative] = chooseAlternative(at.alternatives, given)
      const type = valueAt(given, '$objectType')
      const isSameType = type === undefined || type === valueAt(stored, '$objectType')
      return alternative === undefined
        ? given
        : fill(alternative, given, isSameType ? stored : undefined, path, isSealed)
    }
    if (at.type !== 'object' || typeof given !== 'object' || given === null) return given
    const changes: Record<string, unknown> = {}
    for (const [name, field] of Object.entries(at.fields)) {
      const place = path === '' ? name : `${path}/${name}`
      const value = valueAt(given, name)
      const before = valueAt(stored, name)
      if (isSealed && field.secret === true && field.type === 'text') {
        if (value !== undefined && value !== secretMask) sendsSecret = true
        const isRequired = field.optional !== true
        if (value !== secretMask && (value !== undefined || !isRequired)) continue
        changes[name] = before
        if (isRequired && before === undefined)
          faults.push(invalid(place, 'is required: no secret is stored here that could be kept. Send it'))
      } else if (value !== undefined) {
        const opensHere = field.secret === true && field.type !== 'text'
        const opened = opensHere ? open(place, before) : before
        if (opensHere) sendsSecret = false
        const after = fill(field, value, opened, place, isSealed || opensHere)
        if (after === value) continue
        const isUnchanged = opensHere && !sendsSecret && canonicalJson(after) === canonicalJson(opened)
        changes[name] = isUnchanged ? undefined : after
      }
    }
    return Object.keys(changes).length === 0 ? given : { ...given, ...changes }
  }
  return { value: fill(schema, body, stored, '', false), faults }
}

const sealing = new WeakMap<AnySchema, boolean>()
function seals(schema: AnySchema): boolean {
  let cached = sealing.get(schema)
  if (cached === undefined) {
    cached = [...walk(schema)].some((entry) => entry.schema.secret === true && entry.schema.type !== 'text')
    sealing.set(schema, cached)
  }
  return cached
}
