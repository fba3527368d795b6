/** Refuses unknown names and values that no request could have stored. Missing fields are allowed: many are derived. */
import { type AnyResource, type AnySchema, contract, text, uuid } from '@hyperplane/contract'
import { didYouMean } from '../core/input/nearest.ts'
import { canonicalTime } from '../core/time/clock.ts'
import type { JsonPath } from './json-places.ts'

export interface RowFault {
  readonly at: JsonPath
  /** The fault is the name, not the value. */
  readonly isName?: true
  readonly message: string
}

/** Also for kinds whose answers lack these fields. */
const ofEveryRow = { extId: text(), tenantId: uuid() }
/** Internal kinds have composite ids. */
const kindsOfContract = new Set(contract.flatMap(({ operations }) => operations.map(({ resource }) => resource?.kind)))

export function* rowFaults(resource: AnyResource, row: unknown): Generator<RowFault> {
  if (!isMapping(row)) {
    yield { at: [], message: 'expected a mapping' }
    return
  }
  const { extId } = row
  if (typeof extId !== 'string' || extId === '') yield { at: [], message: 'extId is missing' }
  const own = kindsOfContract.has(resource.kind) ? {} : { extId: ofEveryRow.extId }
  yield* fieldFaults({ ...ofEveryRow, ...resource.schema.fields, ...resource.internal, ...own }, row, [])
}

function* fieldFaults(
  fields: Readonly<Record<string, AnySchema>>,
  value: Readonly<Record<string, unknown>>,
  path: JsonPath,
): Generator<RowFault> {
  for (const [name, item] of Object.entries(value)) {
    if (name.startsWith('$')) continue
    const at = [...path, name]
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (field !== undefined) yield* valueFaults(field, item, at)
    else yield { at, isName: true, message: `${inWords(at)} is not known here${didYouMean(name, Object.keys(fields))}` }
  }
}

function* valueFaults(schema: AnySchema, value: unknown, at: JsonPath): Generator<RowFault> {
  // Exports write null for a value that was left out.
  if (value === null) return
  const expected = expectedIn(schema, value)
  if (expected !== undefined) {
    const found = schema.secret === true ? 'a secret that does not fit' : foundIn(value)
    yield { at, message: `${inWords(at)}: expected ${expected}, found ${found}` }
    return
  }
  switch (schema.type) {
    case 'list':
      for (const [index, item] of (value as unknown[]).entries()) yield* valueFaults(schema.items, item, [...at, index])
      return
    case 'map':
      for (const [name, item] of Object.entries(value as object)) yield* valueFaults(schema.values, item, [...at, name])
      return
    case 'object':
      yield* fieldFaults(schema.fields, value as Record<string, unknown>, at)
      return
    case 'oneOf': {
      const type = (value as { $objectType?: string }).$objectType
      const named = schema.alternatives.find((each) => each.type === 'object' && each.objectType === type)
      const candidates = named === undefined ? schema.alternatives : [named]
      const faults = candidates.map((candidate) => [...valueFaults(candidate, value, at)])
      if (!faults.some((each) => each.length === 0)) yield* faults[0] ?? []
    }
  }
}

/** The expectation that the value itself, without its members, does not meet. */
export function expectedIn(schema: AnySchema, value: unknown): string | undefined {
  switch (schema.type) {
    case 'anything':
    case 'oneOf':
      return undefined
    case 'integer':
      return Number.isSafeInteger(value) && isWithin(value as number, schema)
        ? undefined
        : numberOf('an integer', schema)
    case 'number':
      return typeof value === 'number' && isWithin(value, schema) ? undefined : numberOf('a number', schema)
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'true or false'
    case 'enumeration':
      return schema.values.includes(value as string) ? undefined : schema.values.slice(0, 12).join(' or ')
    case 'list': {
      if (!Array.isArray(value)) return 'a list'
      return value.length <= (schema.maxItems ?? Number.POSITIVE_INFINITY)
        ? undefined
        : `at most ${schema.maxItems} items`
    }
    case 'map':
    case 'object':
      return isMapping(value) ? undefined : 'a mapping'
    case 'uuid':
    case 'taskId':
      return typeof value === 'string' && uuidForm.test(value) ? undefined : 'a UUID in lower case'
    case 'timestamp':
      // The store compares times as texts, so only the canonical form is valid.
      return typeof value === 'string' && canonicalTime(value) === value
        ? undefined
        : 'a time such as 2026-03-02T09:00:00.000000Z'
    case 'text':
      return typeof value === 'string' ? textOf(schema, value) : 'text'
  }
}

const uuidForm = /^[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$/
const patterns = new Map<string, RegExp>()

function textOf(schema: Extract<AnySchema, { type: 'text' }>, value: string): string | undefined {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern } = schema
  // A character takes one or two UTF-16 units, so code points are counted only near the limit.
  const length = value.length > maxLength || minLength > 0 ? [...value].length : value.length
  if (length < minLength || length > maxLength) return `text of ${minLength} to ${maxLength} characters`
  if (pattern === undefined) return undefined
  let form = patterns.get(pattern)
  if (form === undefined) patterns.set(pattern, (form = new RegExp(pattern, 'u')))
  return form.test(value) ? undefined : `text like ${pattern}`
}

const isWithin = (value: number, { minimum, maximum }: { minimum?: number; maximum?: number }): boolean =>
  value >= (minimum ?? Number.NEGATIVE_INFINITY) && value <= (maximum ?? Number.POSITIVE_INFINITY)

function numberOf(what: string, { minimum, maximum }: { minimum?: number; maximum?: number }): string {
  if (minimum === undefined) return maximum === undefined ? what : `${what} of at most ${maximum}`
  return maximum === undefined ? `${what} of at least ${minimum}` : `${what} from ${minimum} to ${maximum}`
}

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const inWords = (path: JsonPath): string =>
  path.map((step, depth) => (typeof step === 'number' ? `[${step}]` : depth === 0 ? step : `.${step}`)).join('')

const foundIn = (value: unknown): string => {
  if (Array.isArray(value)) return `a list of ${value.length}`
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
