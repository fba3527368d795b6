/** Resolves fields and literal types, and turns collections on a path into `any`. Source: conventions 10.2. */
import type { AnySchema, ObjectSchema, TextSchema } from '@hyperplane/contract/schema'
import type {
  Apply,
  Expand,
  ExpandItem,
  Filter,
  Literal,
  Operand,
  Orderby,
  Path,
  Quantified,
  ValueFunction,
} from './ast.ts'
import { ODataFault, quoted, unlisted } from './fault.ts'
import { instantOf } from './instant.ts'
import { type FieldType, type ResolvedPath, resolveCollection, resolveNames } from './paths.ts'
import {
  and,
  type Field,
  foldId,
  follow,
  type Hop,
  never,
  not,
  or,
  type Scalar,
  type TypedFilter,
  type TypedOrderby,
  type Value,
  within,
} from './typed-filter.ts'

export interface FieldRules {
  readonly fields: readonly string[]
  readonly schema: ObjectSchema
  readonly option?: string
}

export interface FilterRules extends FieldRules {
  /** For texts that the naming profiles spell differently. */
  readonly canonical?: (named: NonNullable<TextSchema['named']>, text: string) => string
}

export function checkFilter(filter: Filter, rules: FilterRules): TypedFilter {
  return new FilterCheck(rules).filter(filter, outside)
}

export function checkOrderby(orderby: Orderby, rules: FieldRules): readonly TypedOrderby[] {
  return orderby.map(({ path, descending }) => ({
    field: orderField(path, { option: '$orderby', ...rules }),
    descending,
  }))
}

/** Nested options follow the lists of their own kinds. */
export function checkExpand(expand: Expand, rules: { readonly names: readonly string[] }): readonly ExpandItem[] {
  for (const { name, position } of expand) {
    if (!rules.names.includes(name)) throw unlisted('$expand', name, position, rules.names)
  }
  return expand
}

export interface TypedApply {
  readonly filter: TypedFilter
  readonly groupby: readonly Field[]
}

export function checkApply(
  apply: Apply,
  rules: FilterRules & { readonly filterFields: readonly string[] },
): TypedApply {
  const option = rules.option ?? '$apply'
  return {
    filter:
      apply.filter === undefined ? and() : checkFilter(apply.filter, { ...rules, fields: rules.filterFields, option }),
    groupby: apply.groupby.map((path) => groupField(path, { ...rules, option })),
  }
}

/** A path through a collection orders by its first element. */
function orderField(path: Path, rules: PlainRules): Field {
  const { hops, type } = listedPath(path, rules)
  if (type === 'opaque') throw noValue(path, rules)
  return { kind: 'field', from: 0, names: hops.flatMap((hop, index) => (index === 0 ? hop : ['0', ...hop])), type }
}

/** A collection of plain values groups as one value. */
function groupField(path: Path, rules: PlainRules): Field {
  const { hops, type } = listedPath(path, rules)
  const [names = [], ...elements] = hops
  if (type === 'opaque' || elements.some((hop) => hop.length > 0)) throw noValue(path, rules)
  return { kind: 'field', from: 0, names, type: elements.length === 0 ? type : 'opaque' }
}

type PlainRules = FieldRules & { readonly option: string }

function listedPath(path: Path, rules: PlainRules): ResolvedPath {
  const written = path.names.join('/')
  const resolved = rules.fields.includes(written) ? resolveNames(rules.schema, path.names) : undefined
  if (resolved === undefined) throw unlisted(rules.option, written, path.position, rules.fields)
  return resolved
}

function noValue(path: Path, { option }: PlainRules): ODataFault {
  const written = quoted(path.names.join('/'))
  const message = `${written} has no single value to go by`
  return new ODataFault({
    option,
    position: path.position,
    found: written,
    expected: 'a field with one value',
    message,
  })
}

interface Variable {
  readonly element: AnySchema
  readonly at: number
  readonly path: readonly string[]
  readonly listed: boolean
}

interface Scope {
  readonly depth: number
  readonly variables: ReadonlyMap<string, Variable>
}

const outside: Scope = { depth: 0, variables: new Map() }

type LeafType = Pick<ResolvedPath, 'type' | 'values' | 'named'>

interface Typed {
  readonly name: string
  readonly type: LeafType
  readonly value: Value
  /** Its value depends on the type of the other operand. */
  readonly literal?: Literal
}

class FilterCheck {
  readonly #rules: FilterRules
  readonly #option: string
  readonly #fields: ReadonlySet<string>

  constructor(rules: FilterRules) {
    this.#rules = rules
    this.#option = rules.option ?? '$filter'
    this.#fields = new Set(rules.fields)
  }

  /** `!`: `#about` passes on as many operands as it takes. */
  filter(filter: Filter, scope: Scope): TypedFilter {
    switch (filter.kind) {
      case 'and':
        return and(...filter.terms.map((term) => this.filter(term, scope)))
      case 'or':
        return or(...filter.terms.map((term) => this.filter(term, scope)))
      case 'not':
        return not(this.filter(filter.term, scope))
      case 'compare':
        return this.#about([filter.left, filter.right], scope, ([left, right]) => this.#compare(filter, left!, right!))
      case 'in':
        return this.#about([filter.operand], scope, ([operand]) => this.#in(filter, operand!))
      case 'match':
        return this.#about([filter.text, filter.pattern], scope, ([text, pattern]) =>
          this.#match(filter, text!, pattern!),
        )
      case 'quantified':
        return this.#quantified(filter, scope)
      case 'path':
        return this.#about([filter], scope, ([operand]) => this.#truth(filter, operand!))
    }
  }

  /** Wraps a condition into `any` over each collection that its operands cross. */
  #about(operands: readonly Operand[], scope: Scope, condition: (typed: readonly Typed[]) => TypedFilter): TypedFilter {
    const hops: Hop[] = []
    const typed = operands.map((operand) => this.#operand(operand, scope, hops))
    return within(hops, condition(typed))
  }

  #compare(filter: Filter & { kind: 'compare' }, left: Typed, right: Typed): TypedFilter {
    const { operator, position } = filter
    const type = this.#commonType(left, right, position)
    const isOrder = operator !== 'eq' && operator !== 'ne'
    if (isOrder && (type.type === 'enumeration' || type.type === 'opaque')) {
      throw this.#fault(position, operator, 'eq, ne or in', `${describe(type)} is compared with eq, ne and in only`)
    }
    // A text that is no UUID is neither greater nor less than an id.
    if (isOrder && isId(type.type) && (isNoId(left) || isNoId(right))) return never
    return { kind: 'compare', operator, left: this.#value(left, type, right), right: this.#value(right, type, left) }
  }

  #in(filter: Filter & { kind: 'in' }, operand: Typed): TypedFilter {
    const { name, type } = operand
    const literals = filter.literals.map((literal) => this.#literal(literal, type, name))
    return { kind: 'in', value: this.#value(operand, type, operand), literals }
  }

  #match(filter: Filter & { kind: 'match' }, text: Typed, pattern: Typed): TypedFilter {
    for (const { name, type } of [text, pattern]) {
      if (isText(type.type)) continue
      throw this.#fault(filter.position, name, 'a text', `${filter.function} takes texts, not ${describe(type)}`)
    }
    const type = this.#commonType(text, pattern, filter.position)
    return {
      kind: 'match',
      function: filter.function,
      text: this.#value(text, type, pattern),
      pattern: this.#value(pattern, type, text),
    }
  }

  #truth(path: Path, { name, type, value }: Typed): TypedFilter {
    if (value.kind === 'field' && type.type === 'boolean') return { kind: 'truth', field: value }
    throw this.#fault(path.position, name, 'a comparison', `${quoted(name)} is no boolean field: expected a comparison`)
  }

  #quantified(filter: Quantified, scope: Scope): TypedFilter {
    const { path } = filter
    const start = this.#start(path, scope)
    const names = [...start.path, ...path.names]
    const written = names.join('/')
    const listed = start.listed || this.#fields.has(written)
    const found =
      listed || this.#rules.fields.some((field) => field.startsWith(written + '/'))
        ? resolveCollection(start.element, path.names)
        : undefined
    if (found === undefined) throw unlisted(this.#option, written, path.position, this.#rules.fields)
    const { hops, field } = follow({ hops: found.hops, type: 'opaque' }, start.at, scope.depth)
    const depth = scope.depth + hops.length + 1
    const quantified = {
      kind: 'quantified',
      quantifier: filter.quantifier,
      from: field.from,
      names: field.names,
    } as const
    if (filter.body === undefined || filter.variable === undefined) return within(hops, quantified)
    const variable: Variable = { element: found.element, at: depth, path: names, listed }
    const variables = new Map(scope.variables).set(filter.variable, variable)
    return within(hops, { ...quantified, body: this.filter(filter.body, { depth, variables }) })
  }

  #start(path: Path, scope: Scope): Variable {
    const variable = path.variable === undefined ? undefined : scope.variables.get(path.variable)
    return variable ?? { element: this.#rules.schema, at: 0, path: [], listed: false }
  }

  #operand(operand: Operand, scope: Scope, hops: Hop[]): Typed {
    if (operand.kind === 'literal') {
      const { source, value } = operand
      return { name: source, type: typeOfLiteral(operand), value: { kind: 'literal', value }, literal: operand }
    }
    if (operand.kind === 'call') {
      const { function: name } = operand
      const argument = this.#operand(operand.argument, scope, hops)
      if (!isText(argument.type.type)) {
        const message = `${name} takes a text, not ${describe(argument.type)}`
        throw this.#fault(operand.argument.position, argument.name, 'a text', message)
      }
      return { name, type: { type: name === 'length' ? 'number' : 'text' }, value: call(name, argument.value) }
    }
    const start = this.#start(operand, scope)
    const name = [...start.path, ...operand.names].join('/')
    const resolved = start.listed || this.#fields.has(name) ? resolveNames(start.element, operand.names) : undefined
    if (resolved === undefined) throw unlisted(this.#option, name, operand.position, this.#rules.fields)
    const way = follow(resolved, start.at, scope.depth + hops.length)
    hops.push(...way.hops)
    return { name, type: resolved, value: way.field }
  }

  #commonType(left: Typed, right: Typed, position: number): LeafType {
    if (left.literal !== undefined && right.literal !== undefined) {
      // Null fits every type.
      return left.type.type === 'text' ? right.type : left.type
    }
    if (left.literal !== undefined) return right.type
    if (right.literal !== undefined) return left.type
    const [a, b] = [left.type.type, right.type.type]
    if (a === b && a !== 'opaque') return { type: a }
    if (isText(a) && isText(b)) return { type: 'uuid' }
    if (isSpelled(a) && isSpelled(b)) return { type: 'enumeration' }
    const message = `${quoted(left.name)} is ${describe(left.type)}, ${quoted(right.name)} ${describe(right.type)}`
    throw this.#fault(position, right.name, describe(left.type), message)
  }

  #value({ literal, type, value }: Typed, as: LeafType, beside: Typed): Value {
    if (literal !== undefined) return { kind: 'literal', value: this.#literal(literal, as, beside.name) }
    // Compared with an id, a text is compared without case as well.
    return isId(as.type) && !isId(type.type) ? call('tolower', value) : value
  }

  #literal(literal: Literal, type: LeafType, name: string): Scalar | null {
    const { value, position, source } = literal
    if (value === null) return null
    const clash = (expected: string): ODataFault => {
      const message = `${quoted(name)} is ${describe(type)}; expected ${expected}, found ${quoted(source)}`
      return this.#fault(position, source, expected, message)
    }
    switch (type.type) {
      case 'text':
        if (typeof value !== 'string' || literal.type !== 'text') throw clash('a text between single quotes')
        return type.named === undefined ? value : (this.#rules.canonical?.(type.named, value) ?? value)
      case 'uuid':
      case 'taskId':
        if (typeof value !== 'string' || (literal.type !== 'text' && literal.type !== 'guid')) throw clash('a UUID')
        return foldId(type.type === 'taskId' ? value.replace(taskIdPrefix, '') : value)
      case 'number':
        if (literal.type !== 'number') throw clash('a number')
        return value
      case 'boolean':
        if (literal.type !== 'boolean') throw clash('true or false')
        return value
      case 'timestamp': {
        const instant = literal.type === 'instant' || literal.type === 'text' ? instantOf(String(value)) : undefined
        if (instant === undefined) throw clash('a date-time with an offset, such as 2026-01-31T08:00:00Z')
        return instant
      }
      case 'enumeration': {
        if (literal.type === 'text') return value
        if (literal.type !== 'enumeration') throw clash('a member of the enumeration')
        if (type.values === undefined || type.values.includes(String(value))) return value
        throw clash(`one of ${type.values.join(', ')}`)
      }
      case 'opaque':
        throw clash('null')
    }
  }

  #fault(position: number, found: string, expected: string, message: string): ODataFault {
    return new ODataFault({ option: this.#option, position, found: quoted(found), expected, message })
  }
}

const taskIdPrefix = /^ZXJnb24=:/
const uuidShape = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

const isId = (type: FieldType): boolean => type === 'uuid' || type === 'taskId'
const isText = (type: FieldType): boolean => type === 'text' || isId(type)
const isSpelled = (type: FieldType): boolean => type === 'text' || type === 'enumeration'

const isNoId = ({ literal }: Typed): boolean =>
  typeof literal?.value === 'string' && !uuidShape.test(literal.value.replace(taskIdPrefix, ''))

const call = (name: ValueFunction, argument: Value): Value => ({ kind: 'call', function: name, argument })

/** Null counts as text, which yields to any other type. */
function typeOfLiteral({ type }: Literal): LeafType {
  if (type === 'guid') return { type: 'uuid' }
  if (type === 'instant') return { type: 'timestamp' }
  return { type: type === 'null' ? 'text' : type }
}

function describe({ type, values }: LeafType): string {
  switch (type) {
    case 'uuid':
    case 'taskId':
      return 'a UUID'
    case 'enumeration':
      return values === undefined ? 'an enumeration' : `an enumeration (${values.join(', ')})`
    case 'opaque':
      return 'a composite value'
    case 'timestamp':
      return 'a date-time'
    default:
      return `a ${type}`
  }
}
