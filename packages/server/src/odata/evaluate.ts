/** Three-valued: true, false or null. Source: conventions 10.2. */
import type { ComparisonOperator, MatchFunction, ValueFunction } from './ast.ts'
import { type Field, foldId, type Scalar, type TypedFilter, type TypedOrderby, type Value } from './typed-filter.ts'

type Elements = readonly unknown[]

/** Null is not true. Instants of documents are in UTC with six fractional digits. */
export const evaluateFilter = (filter: TypedFilter, document: unknown): boolean | null => evaluate(filter, [document])

function evaluate(filter: TypedFilter, elements: Elements): boolean | null {
  switch (filter.kind) {
    case 'constant':
      return filter.value
    case 'and':
      return junction(filter.terms, false, elements)
    case 'or':
      return junction(filter.terms, true, elements)
    case 'not': {
      const value = evaluate(filter.term, elements)
      return value === null ? null : !value
    }
    case 'compare':
      return compare(filter.operator, scalarOf(filter.left, elements), scalarOf(filter.right, elements))
    case 'in': {
      const value = scalarOf(filter.value, elements)
      return filter.literals.some((literal) => literal === value)
    }
    case 'match': {
      const text = scalarOf(filter.text, elements)
      const pattern = scalarOf(filter.pattern, elements)
      return typeof text === 'string' && typeof pattern === 'string' ? matches[filter.function](text, pattern) : null
    }
    case 'truth':
      return scalarOf(filter.field, elements) as boolean | null
    case 'quantified': {
      const found = valueBelow(elements[filter.from], filter.names)
      const collection: readonly unknown[] = Array.isArray(found) ? found : []
      const { body } = filter
      if (body === undefined) return collection.length > 0
      const holds = (element: unknown): boolean => evaluate(body, [...elements, element]) === true
      return filter.quantifier === 'any' ? collection.some(holds) : collection.every(holds)
    }
  }
}

/** A false term decides `and`, a true one `or`; otherwise null wins. */
function junction(terms: readonly TypedFilter[], deciding: boolean, elements: Elements): boolean | null {
  let result: boolean | null = !deciding
  for (const term of terms) {
    const value = evaluate(term, elements)
    if (value === deciding) return deciding
    if (value === null) result = null
  }
  return result
}

function compare(operator: ComparisonOperator, left: Scalar | null, right: Scalar | null): boolean {
  if (operator === 'eq') return left === right
  if (operator === 'ne') return left !== right
  if (left === null || right === null) return false
  const order = compareScalars(left, right)
  if (operator === 'gt') return order > 0
  if (operator === 'ge') return order >= 0
  if (operator === 'lt') return order < 0
  return order <= 0
}

function scalarOf(value: Value, elements: Elements): Scalar | null {
  if (value.kind === 'literal') return value.value
  if (value.kind === 'field') return fieldValue(value, elements)
  const argument = scalarOf(value.argument, elements)
  return typeof argument === 'string' ? textFunctions[value.function](argument) : null
}

export function fieldValue(field: Field, elements: Elements): Scalar | null {
  const value = (valueBelow(elements[field.from], field.names) ?? null) as Scalar | null
  return typeof value === 'string' && (field.type === 'uuid' || field.type === 'taskId') ? foldId(value) : value
}

export function valueBelow(from: unknown, names: readonly string[]): unknown {
  let at = from
  for (const name of names) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = (at as Record<string, unknown>)[name]
  }
  return at
}

/** Stores whose own functions differ must call these. */
export const textFunctions: { readonly [name in ValueFunction]: (text: string) => string | number } = {
  tolower: (text) => text.toLowerCase(),
  toupper: (text) => text.toUpperCase(),
  trim: (text) => text.trim(),
  /** In code points. */
  length: (text) => {
    let count = 0
    for (const _ of text) count += 1
    return count
  },
}

const matches: { readonly [name in MatchFunction]: (text: string, pattern: string) => boolean } = {
  startswith: (text, pattern) => text.startsWith(pattern),
  endswith: (text, pattern) => text.endsWith(pattern),
  contains: (text, pattern) => text.includes(pattern),
}

/** Null first ascending and last descending, texts by code point. */
export function sortBy(orderby: readonly TypedOrderby[]): (left: unknown, right: unknown) => number {
  return (left, right) => {
    for (const { field, descending } of orderby) {
      const order = compareNullable(fieldValue(field, [left]), fieldValue(field, [right]))
      if (order !== 0) return descending ? -order : order
    }
    return 0
  }
}

/** Distinct combinations, in order. Collections are compared by element; an empty one counts as absent. */
export function groupDocuments(groupby: readonly Field[], documents: Iterable<unknown>): Record<string, unknown>[] {
  const groups = new Map<string, readonly List[]>()
  for (const document of documents) {
    const values = groupby.map((field) => [fieldValue(field, [document]) ?? []].flat())
    groups.set(JSON.stringify(values), values)
  }
  const ordered = [...groups.values()].sort((left, right) => firstDifference(left, right, compareLists))
  return ordered.map((values) => documentOf(groupby, values))
}

type List = readonly (Scalar | null)[]

function documentOf(fields: readonly Field[], values: readonly List[]): Record<string, unknown> {
  const document: Record<string, unknown> = {}
  fields.forEach(({ names, type }, index) => {
    const value = values[index] ?? []
    const last = names.at(-1)
    if (value.length === 0 || last === undefined) return
    let at = document
    for (const name of names.slice(0, -1)) at = (at[name] ??= {}) as Record<string, unknown>
    at[last] = type === 'opaque' ? value : value[0]
  })
  return document
}

const compareLists = (left: List, right: List): number => firstDifference(left, right, compareNullable)

function firstDifference<T>(left: readonly T[], right: readonly T[], compare: (left: T, right: T) => number): number {
  for (let index = 0; index < Math.min(left.length, right.length); index += 1) {
    const order = compare(left[index] as T, right[index] as T)
    if (order !== 0) return order
  }
  return left.length - right.length
}

function compareNullable(left: Scalar | null, right: Scalar | null): number {
  if (left === null || right === null) return Number(left !== null) - Number(right !== null)
  return compareScalars(left, right)
}

function compareScalars(left: Scalar, right: Scalar): number {
  return typeof left === 'string' && typeof right === 'string' ? compareText(left, right) : Number(left) - Number(right)
}

/** By code point, as UTF-8 sorts: `<` puts U+10000 and above before U+E000. */
export function compareText(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index += 1) {
    const a = left.charCodeAt(index)
    const b = right.charCodeAt(index)
    if (a !== b) return afterOthers(a) - afterOthers(b)
  }
  return left.length - right.length
}

const afterOthers = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit)
