import type { MatchFunction, ValueFunction } from '../odata/ast.ts'
import { textFunctions } from '../odata/evaluate.ts'
import type { FieldType } from '../odata/paths.ts'
import type { Scalar } from '../odata/typed-filter.ts'
import type { Sql } from './sql.ts'

/** Each method must mean exactly what `odata/evaluate.ts` does, null included: the conformance suite compares them. */
export interface Dialect {
  placeholder(index: number): string
  condition(holds: boolean): Sql
  literal(value: Scalar | null): Sql
  /** Comparable with literals of its type; ids in lower case. */
  extract(json: Sql, names: readonly string[], type: FieldType): Sql
  /** A FROM item: one row for each element of the array at `names`, none when there is no array. */
  elements(json: Sql, names: readonly string[], alias: Sql): Sql
  element(alias: Sql): Sql
  /** Checks the time limit too, for conditions that run many times for one row. */
  timed(condition: Sql): Sql
  truth(value: Sql): Sql
  /** Two-valued: null equals null and nothing else. */
  equal(left: Sql, right: Sql): Sql
  unequal(left: Sql, right: Sql): Sql
  isOneOf(value: Sql, values: readonly Scalar[]): Sql
  call(name: ValueFunction, argument: Sql): Sql
  match(name: MatchFunction, text: Sql, pattern: Sql): Sql
  /** Null first ascending, last descending; texts by code point. */
  orderKey(value: Sql, descending: boolean): Sql
}

/** Replaces a function of the database that gives other results. */
export interface SqlFunction {
  readonly name: string
  readonly apply: (text: string) => string | number
}

export const sqlFunctions: readonly SqlFunction[] = [
  { name: 'odata_lower', apply: textFunctions.tolower },
  { name: 'odata_trim', apply: textFunctions.trim },
  { name: 'odata_upper', apply: textFunctions.toupper },
]
