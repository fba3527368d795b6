/**
 * A checked filter -> SQL with bound parameters. Means exactly what `odata/evaluate.ts` means; a property test holds the
 * two together. No text of a caller ever becomes text of a statement.
 */
import type { Field, Scalar, TypedFilter, TypedOrderby, Value } from '../odata/index.ts'
import type { Dialect } from './dialect.ts'

export interface CompileOptions {
  /** path of a field of the entity -> its column; other fields are read from the document. */
  readonly columns: ReadonlyMap<string, string>
  readonly dialect: Dialect
}

export interface CompiledFilter {
  readonly sql: string
  readonly parameters: readonly (string | number)[]
}

export function compileFilter(filter: TypedFilter, options: CompileOptions): CompiledFilter {
  const compiler = new Compiler(options)
  return { sql: compiler.condition(filter, [entity]), parameters: compiler.parameters }
}

export function compileOrderby(orderby: TypedOrderby, options: CompileOptions): { readonly terms: readonly string[]; readonly parameters: readonly (string | number)[] } {
  const compiler = new Compiler(options)
  const terms = orderby.map((key) => options.dialect.orderKey(compiler.field(key.field, [entity]), key.descending))
  return { terms, parameters: compiler.parameters }
}

/** Where the fields of the entity, or of an element of a collection, are read from. */
interface Source {
  /** JSON text or column; of an element that is an object. */
  readonly json: string
  /** An element that is a plain value. */
  readonly scalar?: string
}

const entity: Source = { json: 'document' }

class Compiler {
  readonly parameters: (string | number)[] = []
  readonly #options: CompileOptions
  #aliases = 0

  constructor(options: CompileOptions) {
    this.#options = options
  }

  condition(filter: TypedFilter, sources: readonly Source[]): string {
    switch (filter.kind) {
      case 'constant':
        return filter.value ? '1 = 1' : '1 = 0'
      case 'and':
      case 'or':
        return filter.terms.map((term) => `(${this.condition(term, sources)})`).join(filter.kind === 'and' ? ' AND ' : ' OR ')
      case 'not':
        return `NOT (${this.condition(filter.term, sources)})`
      case 'compare':
        return this.#compare(filter, sources)
      case 'in': {
        const value = this.#remember(() => this.value(filter.value, sources))
        const given = filter.literals.filter((literal) => literal !== null)
        const tests: string[] = []
        // An expression that stands twice must be bound twice; the null test comes first.
        if (given.length < filter.literals.length) tests.push(`${value()} IS NULL`)
        if (given.length > 0) tests.push(`coalesce(${value()} IN (${given.map((literal) => this.#bind(literal as Scalar)).join(', ')}), 0)`)
        return tests.length === 0 ? '1 = 0' : tests.join(' OR ')
      }
      case 'match':
        return this.#match(filter, sources)
      case 'truth':
        return `${this.field(filter.field, sources)} = 1`
      case 'quantified': {
        const source = sources[filter.from] as Source
        const alias = `e${this.#aliases++}`
        const { table, element, scalar } = this.#options.dialect.jsonElements(source.json, filter.names, alias)
        if (filter.body === undefined) return `EXISTS (SELECT 1 FROM ${table})`
        const body = this.condition(filter.body, [...sources, { json: element, scalar }])
        return filter.quantifier === 'any'
          ? `EXISTS (SELECT 1 FROM ${table} WHERE ${body})`
          : `NOT EXISTS (SELECT 1 FROM ${table} WHERE (${body}) IS NOT TRUE)`
      }
    }
  }

  #compare(filter: Extract<TypedFilter, { kind: 'compare' }>, sources: readonly Source[]): string {
    const { dialect } = this.#options
    const left = this.value(filter.left, sources)
    const right = this.value(filter.right, sources)
    switch (filter.operator) {
      case 'eq':
        return dialect.same(left, right)
      case 'ne':
        return `NOT (${dialect.same(left, right)})`
      default: {
        const operator = { gt: '>', ge: '>=', lt: '<', le: '<=' }[filter.operator]
        // Null is below and above nothing: false, not unknown, so that `not` of it is true.
        return `coalesce(${left} ${operator} ${right}, 0)`
      }
    }
  }

  #match(filter: Extract<TypedFilter, { kind: 'match' }>, sources: readonly Source[]): string {
    const { dialect } = this.#options
    const once = (value: Value): (() => string) => this.#remember(() => this.value(value, sources))
    if (filter.function === 'contains') {
      return `${dialect.position(this.value(filter.text, sources), this.value(filter.pattern, sources))} > 0`
    }
    const text = once(filter.text)
    const pattern = once(filter.pattern)
    if (filter.function === 'endswith') {
      return `(${pattern()} = '' OR (length(${text()}) >= length(${pattern()}) AND substr(${text()}, -length(${pattern()})) = ${pattern()}))`
    }
    const exact = `substr(${text()}, 1, length(${pattern()})) = ${pattern()}`
    const prefix = filter.pattern.kind === 'literal' ? filter.pattern.value : undefined
    const end = typeof prefix === 'string' ? afterPrefix(prefix) : undefined
    if (filter.text.kind !== 'field' || typeof prefix !== 'string' || end === undefined) return exact
    // A range that an index on the column can walk; the exact test stays, null stays null.
    return `(${exact} AND ${text()} >= ${this.#bind(prefix)} AND ${text()} < ${this.#bind(end)})`
  }

  /** Renders the expression anew each time, so that its parameters are bound at each place. */
  #remember(render: () => string): () => string {
    return render
  }

  value(value: Value, sources: readonly Source[]): string {
    if (value.kind === 'literal') return value.value === null ? 'NULL' : this.#bind(value.value)
    if (value.kind === 'field') return this.field(value, sources)
    return this.#options.dialect.textFunction(value.function, this.value(value.argument, sources))
  }

  field(field: Field, sources: readonly Source[]): string {
    const source = sources[field.from] as Source
    if (field.from === 0) {
      const column = this.#options.columns.get(field.names.join('/'))
      if (column !== undefined) return column
    }
    if (field.names.length === 0) return source.scalar ?? source.json
    return this.#options.dialect.jsonValue(source.json, field.names)
  }

  #bind(value: Scalar): string {
    this.parameters.push(typeof value === 'boolean' ? Number(value) : value)
    return '?'
  }
}

/** The first text after all that begin with `prefix`; undefined where there is none that is simple to name. */
function afterPrefix(prefix: string): string | undefined {
  const characters = [...prefix]
  const last = characters.pop()?.codePointAt(0)
  if (last === undefined || last >= 0xd7ff) return undefined
  return characters.join('') + String.fromCodePoint(last + 1)
}
