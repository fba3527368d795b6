/** The words in which SQLite says what `compile-query.ts` wants. */
import type { DatabaseSync } from 'node:sqlite'
import { textFunctions } from '../../odata/index.ts'
import type { Dialect } from '../dialect.ts'

/** Field names come from the contract, never from a caller; the quotes keep them apart from the path's own syntax. */
const pathText = (names: readonly string[]): string => `'$${names.map((name) => `."${name.replace(/["'\\]/g, '')}"`).join('')}'`

export const sqliteDialect: Dialect = {
  jsonValue: (json, names) => `json_extract(${json}, ${pathText(names)})`,
  jsonElements: (json, names, alias) => ({
    table: `json_each(${json}, ${pathText(names)}) ${alias}`,
    element: `${alias}.value`,
    scalar: `${alias}.value`,
  }),
  textFunction: (name, argument) => `odata_${name}(${argument})`,
  same: (left, right) => `${left} IS ${right}`,
  position: (text, pattern) => `instr(${text}, ${pattern})`,
  // SQLite's own order of nulls: first ascending, last descending.
  orderKey: (expression, descending) => `${expression}${descending ? ' DESC' : ''}`,
}

/** SQLite's own functions know ASCII only; these are the language's, so that both meanings agree. */
export function registerFunctions(database: DatabaseSync): void {
  for (const [name, run] of Object.entries(textFunctions)) {
    database.function(`odata_${name}`, { deterministic: true }, (text) => (typeof text === 'string' ? run(text) : null))
  }
}
