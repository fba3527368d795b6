/** Before fields are resolved. Positions are columns, from 1. */

export const comparisonOperators = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'] as const
export type ComparisonOperator = (typeof comparisonOperators)[number]

export const matchFunctions = ['startswith', 'endswith', 'contains'] as const
export type MatchFunction = (typeof matchFunctions)[number]

export const valueFunctions = ['tolower', 'toupper', 'trim', 'length'] as const
export type ValueFunction = (typeof valueFunctions)[number]

export interface Path {
  readonly kind: 'path'
  /** Absent: the path starts at the entity. */
  readonly variable?: string
  readonly names: readonly string[]
  readonly position: number
}

export interface Literal {
  readonly kind: 'literal'
  readonly type: 'text' | 'guid' | 'number' | 'boolean' | 'null' | 'instant' | 'enumeration'
  /** Text in NFC, guid as written, instant in UTC with six fractional digits, member name of an enumeration. */
  readonly value: string | number | boolean | null
  /** As written, for messages. */
  readonly source: string
  readonly position: number
}

export interface Call {
  readonly kind: 'call'
  readonly function: ValueFunction
  readonly argument: Operand
  readonly position: number
}

export type Operand = Path | Literal | Call

export type Filter =
  | { readonly kind: 'and' | 'or'; readonly terms: readonly Filter[] }
  | { readonly kind: 'not'; readonly term: Filter }
  | {
      readonly kind: 'compare'
      readonly operator: ComparisonOperator
      readonly left: Operand
      readonly right: Operand
      readonly position: number
    }
  | { readonly kind: 'in'; readonly operand: Operand; readonly literals: readonly Literal[]; readonly position: number }
  | {
      readonly kind: 'match'
      readonly function: MatchFunction
      readonly text: Operand
      readonly pattern: Operand
      readonly position: number
    }
  | Quantified
  | Path

/** Without a body: the collection is not empty. */
export interface Quantified {
  readonly kind: 'quantified'
  readonly quantifier: 'any' | 'all'
  readonly path: Path
  readonly variable?: string
  readonly body?: Filter
  readonly position: number
}

export interface OrderbyKey {
  readonly path: Path
  readonly descending: boolean
}
export type Orderby = readonly OrderbyKey[]

export interface SelectItem {
  readonly path: Path
  readonly nested?: Select
}
export type Select = '*' | readonly SelectItem[]

export interface ExpandItem {
  readonly name: string
  readonly position: number
  readonly filter?: Filter
  readonly select?: Select
  readonly orderby?: Orderby
}
export type Expand = readonly ExpandItem[]

export interface Apply {
  readonly filter?: Filter
  readonly groupby: readonly Path[]
}
