import type { DatabaseSync } from 'node:sqlite'
import { type Dialect, sqlFunctions } from '../dialect.ts'
import { bound, joined, raw, type Sql, sql } from '../sql.ts'
import { inTime, TimeLimit } from './time-limit.ts'

/** More values are bound as one JSON array: the parameters of a statement are limited. */
const maximumBoundValues = 100

/** Booleans are 0 and 1; BINARY order of UTF-8 is the order of code points. */
export const sqliteDialect: Dialect = {
  placeholder: () => '?',
  condition: (holds) => raw(holds ? '1' : '0'),
  literal: (value) => bound(typeof value === 'boolean' ? Number(value) : value),
  extract: (json, names, type) => {
    const value = names.length === 0 ? json : sql`json_extract(${json}, ${jsonPath(names)})`
    return type === 'uuid' || type === 'taskId' ? sql`lower(${value})` : value
  },
  elements: (json, names, alias) => {
    const each = names.length === 0 ? sql`json_each(${json})` : sql`json_each(${json}, ${jsonPath(names)})`
    // Only array elements have integer keys: json_each also returns rows for null and for fields of an object.
    return sql`(SELECT value FROM ${each} WHERE typeof(key) = 'integer') AS ${alias}`
  },
  element: (alias) => sql`${alias}.value`,
  timed: (condition) => sql`(${raw(inTime)} AND ${condition})`,
  truth: (value) => sql`${value} = 1`,
  equal: (left, right) => sql`${left} IS ${right}`,
  unequal: (left, right) => sql`${left} IS NOT ${right}`,
  isOneOf: (value, values) => {
    const plain = values.map((each) => (typeof each === 'boolean' ? Number(each) : each))
    return plain.length > maximumBoundValues
      ? sql`${value} IN (SELECT value FROM json_each(${bound(JSON.stringify(plain))}))`
      : sql`${value} IN (${joined(plain.map(bound), ', ')})`
  },
  call: (name, argument) => sql`${raw(functionNames[name])}(${argument})`,
  match: (name, text, pattern) => {
    // Not LIKE: it ignores case, and has wildcards.
    if (name === 'contains') return sql`instr(${text}, ${pattern}) > 0`
    if (name === 'startswith') return sql`substr(${text}, 1, length(${pattern})) = ${pattern}`
    return sql`substr(${text}, length(${text}) - length(${pattern}) + 1) = ${pattern}`
  },
  orderKey: (value, descending) => (descending ? sql`${value} DESC` : value),
}

const functionNames = { tolower: 'odata_lower', toupper: 'odata_upper', trim: 'odata_trim', length: 'length' } as const

/** SQLite's own functions know only ASCII letters and the blank. */
export function registerFunctions(database: Pick<DatabaseSync, 'function'>, timeLimit = new TimeLimit()): void {
  timeLimit.register(database)
  for (const { name, apply } of sqlFunctions) {
    database.function(name, { deterministic: true, directOnly: true }, (text) =>
      text === null ? null : apply(String(text)),
    )
  }
}

function jsonPath(names: readonly string[]): Sql {
  const unfit = names.find((name) => !/^[\w$]+$/.test(name))
  if (unfit !== undefined) throw new Error(`the field name ${unfit} cannot stand in a JSON path`)
  const steps = names.map((name) => (/^\d+$/.test(name) ? `[${name}]` : `."${name}"`))
  return raw(`'$${steps.join('')}'`)
}
