/**
 * The query language: text -> `parse` -> AST -> `check` (against the operation's fields) -> typed, which `evaluate` gives
 * its meaning. Source: behaviour conventions 10.
 */
export * from './check.ts'
export * from './evaluate.ts'
export * from './fault.ts'
export * from './fields.ts'
export * from './parse.ts'
export * from './paths.ts'
export * from './predicate.ts'
export * from './select.ts'
export * from './typed-filter.ts'
