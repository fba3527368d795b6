/** Typed filters and orders as SQL over one table, with the meaning of `odata/evaluate.ts`. */
import type { ComparisonOperator } from '../odata/ast.ts'
import type { Field, TypedFilter, TypedOrderby, Value } from '../odata/typed-filter.ts'
import type { Dialect } from './dialect.ts'
import { bound, identifier, joined, raw, type Sql, type SqlText, sql, sqlTextOf } from './sql.ts'

export interface QueryTarget {
  /** Path -> column. Columns hold ids in lower case and instants in UTC; other fields are read from `document`. */
  readonly columns: ReadonlyMap<string, string>
  readonly dialect: Dialect
  /** Set if other tables, or `json_each`, have columns of these names. */
  readonly table?: string
  /** Collections of ids that are rows of `reference` too (path -> kind): a look-up instead of a scan. */
  readonly references?: { readonly kind: string; readonly paths: ReadonlyMap<string, string> }
}

/** 1, 0 or NULL where `evaluateFilter` is true, false or null. */
export const compileFilter = (filter: TypedFilter, target: QueryTarget): SqlText =>
  sqlTextOf(new QueryCompiler(target).condition(filter, 0), target.dialect.placeholder)

export function compileOrderby(
  orderby: readonly TypedOrderby[],
  target: QueryTarget,
): { readonly terms: readonly string[]; readonly parameters: SqlText['parameters'] } {
  const compiler = new QueryCompiler(target)
  const keys = orderby.map(({ field, descending }) =>
    sqlTextOf(target.dialect.orderKey(compiler.field(field), descending), target.dialect.placeholder),
  )
  return { terms: keys.map((key) => key.sql), parameters: keys.flatMap((key) => key.parameters) }
}

const comparisons: { readonly [operator in Exclude<ComparisonOperator, 'eq' | 'ne'>]: Sql } = {
  gt: raw('>'),
  ge: raw('>='),
  lt: raw('<'),
  le: raw('<='),
}

/** Longer chains are nested: databases limit the depth of a chain of AND or OR. */
const maximumChain = 50

class QueryCompiler {
  readonly #columns: ReadonlyMap<string, string>
  readonly #dialect: Dialect
  readonly #table: Sql
  readonly #references: QueryTarget['references']

  constructor({ columns, dialect, table, references }: QueryTarget) {
    this.#columns = columns
    this.#references = references
    this.#dialect = dialect
    this.#table = table === undefined ? raw('') : sql`${identifier(table)}.`
  }

  condition(filter: TypedFilter, depth: number): Sql {
    const dialect = this.#dialect
    switch (filter.kind) {
      case 'constant':
        return dialect.condition(filter.value)
      case 'and':
      case 'or':
        return this.#chain(
          filter.terms.map((term) => this.condition(term, depth)),
          filter.kind,
        )
      case 'not':
        return sql`NOT (${this.condition(filter.term, depth)})`
      case 'compare':
        return this.#compare(filter.operator, filter.left, filter.right)
      case 'in':
        return this.#in(filter)
      case 'match':
        return this.#match(filter)
      case 'truth':
        return dialect.truth(this.field(filter.field))
      case 'quantified':
        // A nested quantifier scans its elements for each element of the outer one.
        return depth === 0 ? this.#quantified(filter, 0) : dialect.timed(this.#quantified(filter, depth))
    }
  }

  field({ from, names, type }: Field): Sql {
    const column = from === 0 ? this.#columns.get(names.join('/')) : undefined
    return column === undefined ? this.#dialect.extract(this.#json(from), names, type) : this.#column(column)
  }

  #column(name: string): Sql {
    return sql`${this.#table}${identifier(name)}`
  }

  #json(from: number): Sql {
    return from === 0 ? this.#column('document') : this.#dialect.element(aliasOf(from))
  }

  #value(value: Value): Sql {
    if (value.kind === 'literal') return this.#dialect.literal(value.value)
    if (value.kind === 'field') return this.field(value)
    return this.#dialect.call(value.function, this.#value(value.argument))
  }

  #compare(operator: ComparisonOperator, left: Value, right: Value): Sql {
    const [a, b] = [this.#value(left), this.#value(right)]
    if (operator === 'eq') return this.#dialect.equal(a, b)
    if (operator === 'ne') return this.#dialect.unequal(a, b)
    if (isNull(left) || isNull(right)) return this.#dialect.condition(false)
    // False, not null, if a side is null. A term of its own, so that an index can serve the comparison.
    const present = [left, right].flatMap((side, index) =>
      side.kind === 'literal' ? [] : [sql`${index === 0 ? a : b} IS NOT NULL`],
    )
    return sql`(${joined([sql`${a} ${comparisons[operator]} ${b}`, ...present], ' AND ')})`
  }

  #in({ value, literals }: TypedFilter & { kind: 'in' }): Sql {
    const subject = this.#value(value)
    const values = literals.filter((literal) => literal !== null)
    const isNullListed = values.length < literals.length
    if (values.length === 0) return isNullListed ? sql`${subject} IS NULL` : this.#dialect.condition(false)
    const isOneOf = this.#dialect.isOneOf(subject, values)
    return isNullListed ? sql`(${subject} IS NULL OR ${isOneOf})` : sql`(${subject} IS NOT NULL AND ${isOneOf})`
  }

  #match(filter: TypedFilter & { kind: 'match' }): Sql {
    const { text, pattern } = filter
    const condition = this.#dialect.match(filter.function, this.#value(text), this.#value(pattern))
    if (filter.function !== 'startswith' || text.kind !== 'field' || pattern.kind !== 'literal') return condition
    const column = text.from === 0 ? this.#columns.get(text.names.join('/')) : undefined
    const end = typeof pattern.value === 'string' ? endOfPrefix(pattern.value) : undefined
    if (column === undefined || typeof pattern.value !== 'string' || end === undefined) return condition
    // Also as a range, so that an index can serve it.
    const subject = this.#column(column)
    return sql`(${subject} >= ${bound(pattern.value)} AND ${subject} < ${bound(end)} AND ${condition})`
  }

  #quantified({ quantifier, from, names, body }: TypedFilter & { kind: 'quantified' }, depth: number): Sql {
    const referrers =
      quantifier === 'any' && from === 0 && body !== undefined ? this.#referrers(names, body, depth + 1) : undefined
    if (referrers !== undefined) return sql`${this.#column('ext_id')} IN (${referrers})`
    const elements = this.#dialect.elements(this.#json(from), names, aliasOf(depth + 1))
    if (body === undefined) return sql`EXISTS (SELECT 1 FROM ${elements})`
    const condition = this.condition(body, depth + 1)
    if (quantifier === 'any') return sql`EXISTS (SELECT 1 FROM ${elements} WHERE ${condition})`
    return sql`NOT EXISTS (SELECT 1 FROM ${elements} WHERE (${condition}) IS NOT TRUE)`
  }

  /** undefined: `body` is no comparison of an element with ids. */
  #referrers(names: readonly string[], body: TypedFilter, element: number): Sql | undefined {
    const isEquality = body.kind === 'compare' && body.operator === 'eq' && body.right.kind === 'literal'
    const subject = body.kind === 'in' ? body.value : isEquality ? body.left : undefined
    if (subject?.kind !== 'field' || subject.from !== element || subject.type !== 'uuid') return undefined
    const path = [...names, ...subject.names].join('/')
    const referred = this.#references?.paths.get(path)
    const literals =
      body.kind === 'in' ? body.literals : isEquality && body.right.kind === 'literal' ? [body.right.value] : []
    const ids = literals.filter((literal) => typeof literal === 'string')
    if (referred === undefined || ids.length === 0 || ids.length < literals.length) return undefined
    const kind = this.#references?.kind as string
    const isOneOf = this.#dialect.isOneOf(raw('to_id'), ids)
    return sql`SELECT from_id FROM reference WHERE to_kind = ${bound(referred)} AND from_kind = ${bound(kind)} AND path = ${bound(path)} AND ${isOneOf}`
  }

  #chain(terms: readonly Sql[], kind: 'and' | 'or'): Sql {
    if (terms.length <= maximumChain) return sql`(${joined(terms, kind === 'and' ? ' AND ' : ' OR ')})`
    const half = Math.ceil(terms.length / 2)
    return this.#chain([this.#chain(terms.slice(0, half), kind), this.#chain(terms.slice(half), kind)], kind)
  }
}

const aliasOf = (quantifier: number): Sql => raw(`e${quantifier}`)

const isNull = (value: Value): boolean => value.kind === 'literal' && value.value === null

/** The smallest text, by code point, after all that begin with `prefix`. */
function endOfPrefix(prefix: string): string | undefined {
  const points = [...prefix]
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    const point = last.codePointAt(0) ?? 0
    // Skip the surrogates: no text ends in half a pair.
    if (point < 0x10ffff) return points.join('') + String.fromCodePoint(point === 0xd7ff ? 0xe000 : point + 1)
  }
  return undefined
}
