/** A scope of a thousand policies has as many alternatives: look them up by the document's values. */
import { evaluateFilter, fieldValue, valueBelow } from './evaluate.ts'
import type { Field, Scalar, TypedFilter } from './typed-filter.ts'

export type Predicate = (document: unknown) => boolean

const prepared = new WeakMap<TypedFilter, Predicate>()

/** Cached by filter. */
export function predicateOf(filter: TypedFilter): Predicate {
  let predicate = prepared.get(filter)
  if (predicate === undefined) {
    predicate = prepare(filter)
    prepared.set(filter, predicate)
  }
  return predicate
}

function prepare(filter: TypedFilter): Predicate {
  if (filter.kind === 'and') {
    const terms = filter.terms.map(prepare)
    return (document) => terms.every((holds) => holds(document))
  }
  if (filter.kind === 'or') return prepareAlternatives(filter.terms)
  return keyOf(filter) === undefined
    ? (document) => evaluateFilter(filter, document) === true
    : prepareAlternatives([filter])
}

/** A necessary condition of a term: one of these values. */
interface Key {
  /** undefined: the document itself. */
  readonly collection: readonly string[] | undefined
  readonly field: Field
  readonly values: readonly (Scalar | null)[]
}

/** Value -> further conditions. */
interface Lookup {
  readonly collection: readonly string[] | undefined
  readonly field: Field
  readonly rest: Map<Scalar | null, Predicate[]>
}

function prepareAlternatives(terms: readonly TypedFilter[]): Predicate {
  const lookups = new Map<string, Lookup>()
  const others: Predicate[] = []
  for (const term of terms) {
    const conjuncts = term.kind === 'and' ? term.terms : [term]
    const key = conjuncts.findIndex((conjunct) => keyOf(conjunct) !== undefined)
    const wanted = key < 0 ? undefined : keyOf(conjuncts[key] as TypedFilter)
    if (wanted === undefined) {
      others.push(prepare(term))
      continue
    }
    const { collection, field, values } = wanted
    const name = JSON.stringify([collection, field])
    const lookup: Lookup = lookups.get(name) ?? { collection, field, rest: new Map() }
    lookups.set(name, lookup)
    const remaining = conjuncts.filter((_, index) => index !== key).map(prepare)
    const holds: Predicate = (document) => remaining.every((one) => one(document))
    for (const value of values) lookup.rest.set(value, [...(lookup.rest.get(value) ?? []), holds])
  }
  const groups = [...lookups.values()]
  return (document) =>
    groups.some((lookup) => isFound(lookup, document)) || others.some((alternative) => alternative(document))
}

function isFound({ collection, field, rest }: Lookup, document: unknown): boolean {
  const leads = (elements: readonly unknown[]): boolean =>
    rest.get(fieldValue(field, elements))?.some((holds) => holds(document)) === true
  if (collection === undefined) return leads([document])
  const found = valueBelow(document, collection)
  return Array.isArray(found) && found.some((element) => leads([document, element]))
}

function keyOf(filter: TypedFilter): Key | undefined {
  if (filter.kind === 'quantified') {
    if (filter.quantifier !== 'any' || filter.from !== 0 || filter.body === undefined) return undefined
    const inner = valuesOf(filter.body)
    return inner?.field.from === 1 ? { collection: filter.names, ...inner } : undefined
  }
  const plain = valuesOf(filter)
  return plain?.field.from === 0 ? { collection: undefined, ...plain } : undefined
}

function valuesOf(filter: TypedFilter): Pick<Key, 'field' | 'values'> | undefined {
  if (filter.kind === 'in') {
    return filter.value.kind === 'field' ? { field: filter.value, values: filter.literals } : undefined
  }
  if (filter.kind !== 'compare' || filter.operator !== 'eq') return undefined
  const { left, right } = filter
  return left.kind === 'field' && right.kind === 'literal' ? { field: left, values: [right.value] } : undefined
}
