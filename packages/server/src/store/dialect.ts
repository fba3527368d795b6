/** What differs between the stores' languages; everything else of a query is written once, in `compile-query.ts`. */
export interface Dialect {
  /** Text or number at a path of a JSON value; null where there is none. */
  jsonValue(json: string, names: readonly string[]): string
  /** A table of the elements of the array at a path, called `alias`, and how each element is then addressed. */
  jsonElements(json: string, names: readonly string[], alias: string): { table: string; element: string; scalar: string }
  /** A call of one of the language's text functions. */
  textFunction(name: string, argument: string): string
  /** Both sides equal, null being equal to null. */
  same(left: string, right: string): string
  /** Position of a text in another from 1, or 0. */
  position(text: string, pattern: string): string
  /** A key of ORDER BY; null first ascending, last descending. */
  orderKey(expression: string, descending: boolean): string
}
