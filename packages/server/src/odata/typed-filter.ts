/** With resolved fields; also the form of scopes. `evaluate.ts` defines the meaning, `compile-query.ts` compiles it. */
import type { ComparisonOperator, MatchFunction, ValueFunction } from './ast.ts'
import type { FieldType, ResolvedPath } from './paths.ts'

export type Scalar = string | number | boolean

export interface Field {
  readonly kind: 'field'
  /** 0: of the entity; n: of the element of the nth enclosing quantifier, from outside. */
  readonly from: number
  /** May hold an index into a collection. Empty for the element itself. */
  readonly names: readonly string[]
  readonly type: FieldType
}

export type Value =
  | Field
  | { readonly kind: 'literal'; readonly value: Scalar | null }
  | { readonly kind: 'call'; readonly function: ValueFunction; readonly argument: Value }

export type TypedFilter =
  | { readonly kind: 'constant'; readonly value: boolean }
  | { readonly kind: 'and' | 'or'; readonly terms: readonly TypedFilter[] }
  | { readonly kind: 'not'; readonly term: TypedFilter }
  | { readonly kind: 'compare'; readonly operator: ComparisonOperator; readonly left: Value; readonly right: Value }
  | { readonly kind: 'in'; readonly value: Value; readonly literals: readonly (Scalar | null)[] }
  | { readonly kind: 'match'; readonly function: MatchFunction; readonly text: Value; readonly pattern: Value }
  | { readonly kind: 'truth'; readonly field: Field }
  /** Without a body: the collection is not empty. */
  | {
      readonly kind: 'quantified'
      readonly quantifier: 'any' | 'all'
      readonly from: number
      readonly names: readonly string[]
      readonly body?: TypedFilter
    }

export interface TypedOrderby {
  readonly field: Field
  readonly descending: boolean
}

export const always: TypedFilter = { kind: 'constant', value: true }
export const never: TypedFilter = { kind: 'constant', value: false }

export const and = (...terms: readonly TypedFilter[]): TypedFilter => junction('and', terms)
export const or = (...terms: readonly TypedFilter[]): TypedFilter => junction('or', terms)

export function not(term: TypedFilter): TypedFilter {
  if (term.kind === 'constant') return term.value ? never : always
  return { kind: 'not', term }
}

/** Compares the field, or any element of the collection that the path crosses. */
export function equals(path: ResolvedPath, value: Scalar | null): TypedFilter {
  return compares(path, 'eq', value)
}

export function compares(path: ResolvedPath, operator: ComparisonOperator, value: Scalar | null): TypedFilter {
  const right = { kind: 'literal', value: stored(path.type, value) } as const
  return some(path, (left) => ({ kind: 'compare', operator, left, right }))
}

/** As `equals`, for several values. */
export function anyOf(path: ResolvedPath, values: readonly (Scalar | null)[]): TypedFilter {
  if (values.length === 0) return never
  return some(path, (field) => ({
    kind: 'in',
    value: field,
    literals: values.map((value) => stored(path.type, value)),
  }))
}

export interface Hop {
  readonly from: number
  readonly names: readonly string[]
}

/** The first hop is the outermost. */
export function within(hops: readonly Hop[], body: TypedFilter): TypedFilter {
  return hops.reduceRight((inner, hop) => ({ kind: 'quantified', quantifier: 'any', ...hop, body: inner }), body)
}

/** `depth`: number of open quantifiers. */
export function follow(path: ResolvedPath, from: number, depth: number): { hops: readonly Hop[]; field: Field } {
  const hops: Hop[] = []
  let at = from
  for (const names of path.hops.slice(0, -1)) {
    hops.push({ from: at, names })
    at = depth + hops.length
  }
  return { hops, field: { kind: 'field', from: at, names: path.hops.at(-1) ?? [], type: path.type } }
}

/** Ids are compared without case. */
export const stored = <T extends Scalar | null>(type: FieldType, value: T): T =>
  (typeof value === 'string' && (type === 'uuid' || type === 'taskId') ? foldId(value) : value) as T

/** Only A-Z, as stores fold ids. */
export const foldId = (text: string): string => text.replace(/[A-Z]+/g, (upper) => upper.toLowerCase())

function some(path: ResolvedPath, condition: (field: Field) => TypedFilter): TypedFilter {
  const { hops, field } = follow(path, 0, 0)
  return within(hops, condition(field))
}

function junction(kind: 'and' | 'or', given: readonly TypedFilter[]): TypedFilter {
  const [neutral, deciding] = kind === 'and' ? [always, never] : [never, always]
  const terms: TypedFilter[] = []
  for (const term of given) {
    if (term.kind === kind) terms.push(...term.terms)
    else if (term.kind !== 'constant') terms.push(term)
    else if (term.value === (deciding === always)) return deciding
  }
  const kept = kind === 'or' ? mergeAlternatives(terms) : terms
  if (kept.length < 2) return kept[0] ?? neutral
  return { kind, terms: kept }
}

/** Joined to an `in` or `any`: each of a scope's thousands would cost a scan. */
function mergeAlternatives(terms: readonly TypedFilter[]): readonly TypedFilter[] {
  const groups = new Map<unknown, TypedFilter[]>()
  for (const term of terms) {
    const key = subjectOf(term)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [term])
    else group.push(term)
  }
  return groups.size === terms.length ? terms : [...groups.values()].map(mergeGroup)
}

function subjectOf(term: TypedFilter): unknown {
  if (term.kind === 'in') return JSON.stringify(term.value)
  if (term.kind === 'compare' && term.operator === 'eq' && term.right.kind === 'literal')
    return JSON.stringify(term.left)
  if (term.kind === 'quantified' && term.quantifier === 'any' && term.body !== undefined) {
    return JSON.stringify([term.from, term.names])
  }
  return term
}

function mergeGroup(group: readonly TypedFilter[]): TypedFilter {
  const [first] = group as [TypedFilter]
  if (group.length === 1) return first
  if (first.kind === 'quantified') {
    return { ...first, body: or(...group.flatMap((term) => (term.kind === 'quantified' ? (term.body ?? []) : []))) }
  }
  const value = first.kind === 'in' ? first.value : (first as TypedFilter & { kind: 'compare' }).left
  const literals = group.flatMap((term) => {
    if (term.kind === 'in') return term.literals
    return term.kind === 'compare' && term.right.kind === 'literal' ? [term.right.value] : []
  })
  return { kind: 'in', value, literals: [...new Set(literals)] }
}
