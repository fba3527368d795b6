import type { MatchFunction, ValueFunction } from '../odata/ast.ts'
import { textFunctions } from '../odata/evaluate.ts'
import type { FieldType } from '../odata/paths.ts'
import type { Scalar } from '../odata/typed-filter.ts'
import type { Sql } from './sql.ts'

/**
 * The differences between databases in what filters need. Each method must have exactly the meaning of
 * `odata/evaluate.ts`, null included: the conformance suite compares the two.
 */
export interface Dialect {
  /** The nth parameter, from 1. */
  placeholder(index: number): string
  condition(holds: boolean): Sql
  /** A value of a request, bound. */
  literal(value: Scalar | null): Sql
  /** The value at `names` in a JSON document or element, comparable with literals of its type; ids in lower case. */
  extract(json: Sql, names: readonly string[], type: FieldType): Sql
  /** A FROM item: one row named `alias` for each element of the array at `names`, none when there is no array. */
  elements(json: Sql, names: readonly string[], alias: Sql): Sql
  /** The JSON of the current element of `alias`. */
  element(alias: Sql): Sql
  /** The condition with a check of the time limit, for conditions that run many times for one row. */
  timed(condition: Sql): Sql
  /** A boolean value as a condition; null stays null. */
  truth(value: Sql): Sql
  /** Two-valued: null equals null and nothing else. */
  equal(left: Sql, right: Sql): Sql
  unequal(left: Sql, right: Sql): Sql
  /** `values` holds at least one; null where `value` is. */
  isOneOf(value: Sql, values: readonly Scalar[]): Sql
  call(name: ValueFunction, argument: Sql): Sql
  /** Null where either is. */
  match(name: MatchFunction, text: Sql, pattern: Sql): Sql
  /** A key of ORDER BY: null first ascending, last descending, texts by code point. */
  orderKey(value: Sql, descending: boolean): Sql
}

/** A function that replaces the database's own, because that gives other results. */
export interface SqlFunction {
  readonly name: string
  /** Null for null. */
  readonly apply: (text: string) => string | number
}

export const sqlFunctions: readonly SqlFunction[] = [
  { name: 'odata_lower', apply: textFunctions.tolower },
  { name: 'odata_trim', apply: textFunctions.trim },
  { name: 'odata_upper', apply: textFunctions.toupper },
]
