/** Other constructs of OData are refused by name; limits (10.3) apply while reading. Source: conventions 10.1. */
import {
  type Apply,
  type ComparisonOperator,
  comparisonOperators,
  type Expand,
  type ExpandItem,
  type Filter,
  type Literal,
  type MatchFunction,
  matchFunctions,
  type Operand,
  type Orderby,
  type OrderbyKey,
  type Path,
  type Quantified,
  type Select,
  type SelectItem,
  type ValueFunction,
  valueFunctions,
} from './ast.ts'
import { type ODataFault, quoted } from './fault.ts'
import { type Token, Tokens } from './tokens.ts'

export const limits = {
  /** Operators, functions, fields and literals. */
  nodes: 300,
  /** Parentheses of groups, functions and lambdas. */
  depth: 20,
  names: 20,
  lambdas: 2,
  literalsOfIn: 200,
  orderbyKeys: 5,
  selectItems: 100,
  expandItems: 10,
} as const

export const parseFilter = (text: string): Filter => parseAll('$filter', text, (parser) => parser.filter())
export const parseOrderby = (text: string): Orderby => parseAll('$orderby', text, (parser) => parser.orderby())
export const parseSelect = (text: string): Select => parseAll('$select', text, (parser) => parser.select())
export const parseExpand = (text: string): Expand => parseAll('$expand', text, (parser) => parser.expand())
export const parseApply = (text: string): Apply => parseAll('$apply', text, (parser) => parser.apply())

function parseAll<T>(option: string, text: string, read: (parser: Parser) => T): T {
  const parser = new Parser(new Tokens(option, text))
  const found = read(parser)
  parser.expectEnd()
  return found
}

const arithmetic = new Set(['add', 'sub', 'mul', 'div', 'divby', 'mod', 'has'])
const functionNames: readonly string[] = [...matchFunctions, ...valueFunctions]
const isOneOf = <T extends string>(names: readonly T[], name: string): name is T =>
  (names as readonly string[]).includes(name)

class Parser {
  readonly #tokens: Tokens
  readonly #variables: string[] = []
  #nodes = 0
  #depth = 0

  constructor(tokens: Tokens) {
    this.#tokens = tokens
  }

  expectEnd(): void {
    const token = this.#tokens.peek()
    if (token.kind !== 'end') throw this.#tokens.fault(token, 'the end')
  }

  filter(): Filter {
    return this.#junction('or', () => this.#junction('and', () => this.#negation()))
  }

  #junction(kind: 'and' | 'or', term: () => Filter): Filter {
    const terms = [term()]
    for (let token = this.#takeKeyword(kind); token !== undefined; token = this.#takeKeyword(kind)) {
      this.#count(token)
      terms.push(term())
    }
    return terms.length === 1 ? terms[0]! : { kind, terms }
  }

  #negation(): Filter {
    const not = this.#takeKeyword('not')
    if (not === undefined) return this.#primary()
    this.#count(not)
    return { kind: 'not', term: this.#primary() }
  }

  #primary(): Filter {
    const token = this.#tokens.peek()
    if (isSymbol(token, '(')) return this.#parenthesised(() => this.filter())
    if (token.kind !== 'word' || isConstant(token)) return this.#comparison(this.#operand())
    this.#tokens.take()
    if (isSymbol(this.#tokens.peek(), '(')) {
      const name = token.source.toLowerCase()
      return isOneOf(matchFunctions, name) ? this.#match(name, token) : this.#comparison(this.#call(token))
    }
    const path = this.#path(token)
    return isSymbol(this.#tokens.peek(), '(') ? this.#quantified(path) : this.#comparison(path)
  }

  #match(name: MatchFunction, token: Token): Filter {
    this.#count(token)
    return this.#parenthesised(() => {
      const text = this.#operand()
      this.#expectSymbol(',')
      return { kind: 'match', function: name, text, pattern: this.#operand(), position: token.position }
    })
  }

  #comparison(left: Operand): Filter {
    const token = this.#tokens.peek()
    const { position } = token
    const name = token.kind === 'word' ? token.source.toLowerCase() : ''
    if (isOneOf<ComparisonOperator>(comparisonOperators, name)) {
      this.#count(this.#tokens.take())
      return { kind: 'compare', operator: name, left, right: this.#operand(), position }
    }
    if (name === 'in') {
      this.#count(this.#tokens.take())
      return { kind: 'in', operand: left, literals: this.#literals(), position }
    }
    if (left.kind === 'path') {
      if (isOneOf(matchFunctions, name)) {
        this.#count(this.#tokens.take())
        const pattern = this.#tokens.peek()
        if (pattern.kind !== 'text') throw this.#tokens.fault(pattern, 'a text between single quotes')
        return { kind: 'match', function: name, text: left, pattern: this.#literal('a text'), position }
      }
      const ends = token.kind === 'end' || isSymbol(token, ')') || isSymbol(token, ';')
      if (ends || name === 'and' || name === 'or') return left
    }
    if (arithmetic.has(name)) {
      throw this.#tokens.fault(token, 'a comparison', `the operator ${quoted(name)} is not supported`)
    }
    throw this.#tokens.fault(token, 'a comparison (eq, ne, gt, ge, lt, le, in)')
  }

  #literals(): readonly Literal[] {
    this.#expectSymbol('(')
    const found = [this.#literal('a literal')]
    while (this.#takeSymbol(',')) {
      const token = this.#tokens.peek()
      found.push(this.#literal('a literal'))
      if (found.length > limits.literalsOfIn) throw this.#tooMany(token, `${limits.literalsOfIn} values of "in"`)
    }
    this.#expectSymbol(')')
    return found
  }

  #quantified(read: Path): Quantified {
    const quantifier = read.names.at(-1)?.toLowerCase()
    const open = this.#tokens.peek()
    if (read.names.length < (read.variable === undefined ? 2 : 1) || (quantifier !== 'any' && quantifier !== 'all')) {
      throw this.#tokens.fault(
        open,
        'a comparison',
        `the function ${quoted(read.names.at(-1) ?? '')} is not supported after a path; any and all are`,
      )
    }
    this.#count(open)
    const path: Path = { ...read, names: read.names.slice(0, -1) }
    return this.#parenthesised(() => {
      const { position } = read
      if (quantifier === 'any' && isSymbol(this.#tokens.peek(), ')')) {
        return { kind: 'quantified', quantifier, path, position }
      }
      const token = this.#takeName('a variable')
      const variable = token.source
      if (this.#variables.includes(variable)) {
        throw this.#tokens.fault(token, 'another name', `the variable ${quoted(variable)} is in use already`)
      }
      this.#variables.push(variable)
      if (this.#variables.length > limits.lambdas) throw this.#tooMany(token, `${limits.lambdas} nested lambdas`)
      this.#expectSymbol(':')
      const body = this.filter()
      this.#variables.pop()
      return { kind: 'quantified', quantifier, path, variable, body, position }
    })
  }

  #operand(): Operand {
    const token = this.#tokens.peek()
    if (token.kind !== 'word' || isConstant(token)) return this.#literal('a field or a literal')
    this.#tokens.take()
    if (isSymbol(this.#tokens.peek(), '(')) return this.#call(token)
    const path = this.#path(token)
    const next = this.#tokens.peek()
    if (isSymbol(next, '(')) throw this.#tokens.fault(next, 'a field, without a lambda')
    return path
  }

  #call(token: Token): Operand {
    const name = token.source.toLowerCase()
    if (isOneOf(matchFunctions, name)) {
      throw this.#tokens.fault(token, 'a value', `${quoted(name)} is a condition and cannot be compared`)
    }
    if (!isOneOf<ValueFunction>(valueFunctions, name)) {
      const known = functionNames.join(', ')
      throw this.#tokens.fault(token, known, `the function ${quoted(token.source)} is not supported; ${known} are`)
    }
    this.#count(token)
    return this.#parenthesised(() => ({
      kind: 'call',
      function: name,
      argument: this.#operand(),
      position: token.position,
    }))
  }

  #literal(expected: string): Literal {
    const token = this.#tokens.peek()
    const { source, position } = token
    const literal = (type: Literal['type'], value: Literal['value']): Literal => {
      this.#count(this.#tokens.take())
      return { kind: 'literal', type, value, source, position }
    }
    if (token.kind === 'word' && isConstant(token)) {
      const constant = source.toLowerCase()
      return constant === 'null' ? literal('null', null) : literal('boolean', constant === 'true')
    }
    if (token.kind === 'word' || token.kind === 'symbol' || token.kind === 'end') {
      throw this.#tokens.fault(token, expected)
    }
    return literal(token.kind, (token as { readonly value: string | number }).value)
  }

  #path(first: Token): Path {
    this.#count(first)
    const names = [this.#nameOf(first)]
    while (this.#takeSymbol('/')) {
      const token = this.#takeName('a field')
      names.push(token.source)
      if (names.length > limits.names) throw this.#tooMany(token, `${limits.names} names in a path`)
    }
    const { position } = first
    if (!this.#variables.includes(first.source)) return { kind: 'path', names, position }
    return { kind: 'path', variable: first.source, names: names.slice(1), position }
  }

  orderby(): Orderby {
    const keys: OrderbyKey[] = []
    do {
      const token = this.#takeName('a field')
      if (keys.length === limits.orderbyKeys) throw this.#tooMany(token, `${limits.orderbyKeys} keys`)
      const path = this.#path(token)
      const descending = this.#takeKeyword('desc') !== undefined
      if (!descending) this.#takeKeyword('asc')
      keys.push({ path, descending })
    } while (this.#takeSymbol(','))
    return keys
  }

  select(counter: { items: number } = { items: 0 }): Select {
    if (this.#takeSymbol('*')) return '*'
    const items: SelectItem[] = []
    do {
      const token = this.#tokens.peek()
      const decoration = token.source === '$objectType' || token.source === '$reserved'
      const first = decoration ? this.#tokens.take() : this.#takeName('a field')
      counter.items += 1
      if (counter.items > limits.selectItems) throw this.#tooMany(first, `${limits.selectItems} fields`)
      const path: Path = decoration
        ? { kind: 'path', names: [first.source], position: first.position }
        : this.#path(first)
      if (!isSymbol(this.#tokens.peek(), '(')) items.push({ path })
      else items.push({ path, nested: this.#parenthesised(() => this.select(counter)) })
    } while (this.#takeSymbol(','))
    return items
  }

  expand(): Expand {
    const items: ExpandItem[] = []
    do {
      const token = this.#takeName('a name')
      const name = token.source
      if (items.length === limits.expandItems) throw this.#tooMany(token, `${limits.expandItems} names`)
      if (items.some((item) => item.name === name)) {
        throw this.#tokens.fault(token, 'another name', `${quoted(name)} is expanded twice`)
      }
      const options = isSymbol(this.#tokens.peek(), '(') ? this.#parenthesised(() => this.#expandOptions()) : {}
      items.push({ name, position: token.position, ...options })
    } while (this.#takeSymbol(','))
    return items
  }

  #expandOptions(): Pick<ExpandItem, 'filter' | 'select' | 'orderby'> {
    const found: { filter?: Filter; select?: Select; orderby?: Orderby } = {}
    do {
      const token = this.#tokens.take()
      const option = token.source.slice(1)
      if (!token.source.startsWith('$') || !isOneOf(['filter', 'select', 'orderby'], option)) {
        throw this.#tokens.fault(token, '$filter, $select or $orderby')
      }
      if (found[option] !== undefined) throw this.#tokens.fault(token, `one ${token.source}`)
      this.#expectSymbol('=')
      if (option === 'filter') found.filter = this.filter()
      else if (option === 'select') found.select = this.select()
      else found.orderby = this.orderby()
    } while (this.#takeSymbol(';'))
    return found
  }

  apply(): Apply {
    let filter: Filter | undefined
    if (this.#takeKeyword('filter') !== undefined) {
      filter = this.#parenthesised(() => this.filter())
      this.#expectSymbol('/')
    }
    const token = this.#tokens.peek()
    if (this.#takeKeyword('groupby') === undefined) throw this.#tokens.fault(token, 'groupby')
    const groupby = this.#parenthesised(() =>
      this.#parenthesised(() => {
        const paths: Path[] = []
        do paths.push(this.#path(this.#takeName('a field')))
        while (this.#takeSymbol(','))
        return paths
      }),
    )
    return { ...(filter && { filter }), groupby }
  }

  #parenthesised<T>(read: () => T): T {
    const open = this.#expectSymbol('(')
    this.#depth += 1
    if (this.#depth > limits.depth) throw this.#tooMany(open, `${limits.depth} nested parentheses`)
    const found = read()
    this.#depth -= 1
    this.#expectSymbol(')')
    return found
  }

  #count(token: Token): void {
    this.#nodes += 1
    if (this.#nodes > limits.nodes) throw this.#tooMany(token, `${limits.nodes} operators, fields and literals`)
  }

  #tooMany(token: Token, limit: string): ODataFault {
    return this.#tokens.fault(token, `at most ${limit}`, `the option is too large: at most ${limit}`)
  }

  #takeKeyword(keyword: string): Token | undefined {
    const token = this.#tokens.peek()
    return token.kind === 'word' && token.source.toLowerCase() === keyword ? this.#tokens.take() : undefined
  }

  #takeSymbol(symbol: string): boolean {
    const found = isSymbol(this.#tokens.peek(), symbol)
    if (found) this.#tokens.take()
    return found
  }

  #expectSymbol(symbol: string): Token {
    const token = this.#tokens.take()
    if (!isSymbol(token, symbol)) throw this.#tokens.fault(token, quoted(symbol))
    return token
  }

  #takeName(expected: string): Token {
    const token = this.#tokens.take()
    if (token.kind !== 'word') throw this.#tokens.fault(token, expected)
    this.#nameOf(token)
    return token
  }

  #nameOf(token: Token): string {
    const name = token.source
    if (/^(?:and|or|not)$/i.test(name)) throw this.#tokens.fault(token, 'a field')
    if (name.startsWith('$')) throw this.#tokens.fault(token, 'a field', `${quoted(name)} is not supported here`)
    if (name.startsWith('@')) {
      throw this.#tokens.fault(token, 'a field', `parameter aliases (${quoted(name)}) are not supported`)
    }
    if (name.includes('.')) {
      throw this.#tokens.fault(token, 'a field', `type casts and qualified names (${quoted(name)}) are not supported`)
    }
    return name
  }
}

const isSymbol = (token: Token, symbol: string): boolean => token.kind === 'symbol' && token.source === symbol
const isConstant = (token: Token): boolean => /^(?:true|false|null)$/i.test(token.source)
