/** The query language: text -> tree -> checked filter -> meaning. Pure; stores translate the checked filter. */
export { checkApply, checkExpand, checkFilter, checkOrderby } from './check.ts'
export { documentOf, evaluateFilter, groupDocuments, sortBy, textFunctions } from './evaluate.ts'
export { ODataFault } from './fault.ts'
export { parseApply, parseExpand, parseFilter, parseOrderby, parseSelect } from './parse.ts'
export { type ResolvedPath, resolvePath } from './paths.ts'
export { applySelection, checkSelect, type Selection } from './select.ts'
export {
  always,
  and,
  anyOf,
  equals,
  type Field,
  never,
  not,
  or,
  type Scalar,
  type TypedFilter,
  type TypedOrderby,
  type Value,
} from './typed-filter.ts'
