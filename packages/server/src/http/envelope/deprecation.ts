/** Headers of deprecated operations. Source: conventions 11. */
import type { Operation } from '@hyperplane/contract'
import type { AnswerContext } from './answer-context.ts'

export function addDeprecation(headers: Record<string, string>, operation: Operation, context: AnswerContext): void {
  headers['Deprecation'] = 'true'
  const successor = operation.deprecated?.successor
  if (successor === undefined) return
  // The path of the successor has the same variables, in the same order.
  const values = context.path.split('/').slice(3)
  const names = operation.path.split('/').slice(1)
  const variables = values.filter((_, index) => names[index]?.startsWith('{') === true)
  let used = 0
  headers['Link'] = `<${successor.replace(/\{\w+\}/g, () => variables[used++] ?? '')}>; rel="successor-version"`
}
