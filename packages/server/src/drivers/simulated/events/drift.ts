/** Drift: changes one field of a fact by its path (`SNMP_SERVER_CONFIG/users/0/authType`). Source: behaviour clustermgmt.md 1.10, 3. */
import type { AnySchema } from '@hyperplane/contract'
import { canonicalJson } from '../../../core/idempotency.ts'
import { didYouMean } from '../../../core/input/nearest.ts'
import { validateBody } from '../../../core/input/validate.ts'
import type { SimulatedWorld } from '../world.ts'
import { CannotHappen } from './event.ts'
import { type FactKind, kindsOfFacts, stepInto } from './facts.ts'

interface FieldChange {
  readonly kind: FactKind
  readonly path: string
  /** Absent: unset the field. */
  readonly value?: unknown
  /** Replaces `value` if the field is a secret. */
  readonly secretDigest?: string
}

/** @throws CannotHappen if the field is not a secret */
export function digestOfSecret(kind: FactKind, id: string, path: string, plain: string): string {
  const { digestOf } = kindsOfFacts[kind]
  if (digestOf === undefined || fieldAt(kind, path).secret !== true)
    throw new CannotHappen(`${path} is no secret: send its new content as value`, 'secret')
  return digestOf(id, plain)
}

/** @returns false if nothing changed. @throws CannotHappen */
export async function changeFact(world: SimulatedWorld, id: string, change: FieldChange): Promise<boolean> {
  const { before, next } = plannedChange(world, id, change)
  if (canonicalJson(next) === canonicalJson(before)) return false
  await kindsOfFacts[change.kind].write(world, id, next, before)
  return true
}

type Fields = Readonly<Record<string, unknown>>

/** Does not write. @throws CannotHappen */
export function plannedChange(
  world: SimulatedWorld,
  id: string,
  change: FieldChange,
): { before: Fields; next: Fields } {
  const { kind, path } = change
  const content = wanted(change)
  const before: Fields | undefined = kindsOfFacts[kind].read(world, id)
  if (before === undefined) throw new CannotHappen(`The world holds nothing of ${kind} ${id}.`, 'of')
  return { before, next: replaced(before, path.split('/'), path, content) as Fields }
}

function wanted({ kind, path, value, secretDigest }: FieldChange): unknown {
  const field = fieldAt(kind, path)
  if (field.secret === true && value !== undefined)
    throw new CannotHappen(`${path} is a secret: send it as secret, which is shown nowhere`, 'value')
  if (field.secret === true && secretDigest !== undefined)
    return kindsOfFacts[kind].secretOf?.(secretDigest) ?? secretDigest
  if (value === undefined || value === null) {
    if (field.optional !== true) throw new CannotHappen(`${path} cannot be unset: expected a value`, 'value')
    return undefined
  }
  const within = secretIn(field, value, path)
  if (within !== undefined)
    throw new CannotHappen(`${within} is a secret: leave it out, and change it by an event of its own`, 'value')
  const options = { unknown: 'refuse', version: '', sparse: false, defaults: true } as const
  const { value: clean, faults } = validateBody(field, value, options)
  if (faults.length > 0)
    throw new CannotHappen(
      faults
        .map((fault) => `${fault.attributePath === '$' ? path : `${path}/${fault.attributePath}`}: ${fault.message}`)
        .join('; '),
      'value',
    )
  return clean
}

/** @throws CannotHappen, with suggestions, for an unknown path */
function fieldAt(kind: FactKind, path: string): AnySchema {
  let at: AnySchema = kindsOfFacts[kind].schema
  const steps = path.split('/')
  for (const [index, step] of steps.entries()) {
    const next = stepInto(at, step)
    if (next === undefined) {
      const names = at.type === 'object' ? Object.keys(at.fields) : []
      const expected =
        names.length > 0 ? `one of ${names.join(', ')}` : at.type === 'list' ? 'a place, from 0' : 'no more'
      const before = steps.slice(0, index).join('/')
      throw new CannotHappen(
        `expected ${expected}${before === '' ? '' : ` after ${before}`}; found "${step}"${didYouMean(step, names)}`,
        'path',
      )
    }
    at = next
  }
  return at
}

/** @throws CannotHappen if a list is too short */
function replaced(at: unknown, steps: readonly string[], path: string, content: unknown): unknown {
  const [step, ...rest] = steps
  if (step === undefined) return content
  if (Array.isArray(at)) {
    const place = Number(step)
    if (place >= at.length) throw new CannotHappen(`${path} leads to place ${place} of a list of ${at.length}`, 'path')
    const next = replaced(at[place], rest, path, content)
    return next === undefined ? at.toSpliced(place, 1) : at.with(place, next)
  }
  const { [step]: inner, ...others } = (at ?? {}) as Record<string, unknown>
  const next = replaced(inner, rest, path, content)
  return next === undefined ? others : { ...others, [step]: next }
}

function secretIn(schema: AnySchema, value: unknown, path: string): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  for (const [step, item] of Object.entries(value)) {
    const field = stepInto(schema, step)
    if (field === undefined) continue
    const found = field.secret === true ? `${path}/${step}` : secretIn(field, item, `${path}/${step}`)
    if (found !== undefined) return found
  }
  return undefined
}
