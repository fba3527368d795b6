/** Random hostile requests, repeatable by seed; used by the test and by the bench. */
import { contract, type Operation } from '@hyperplane/contract'

export interface HostileRequest {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly requestId?: string
}

const operations = contract.flatMap((namespace) => namespace.operations)

const texts = [
  '',
  ' ',
  'a'.repeat(5000),
  '\u0000',
  '../../../etc/passwd',
  "'; DROP TABLE vm; --",
  '%00',
  '{{7*7}}',
  '\u202Egnp.exe',
  '𝕏'.repeat(300),
  '-1',
  '1e400',
  'NaN',
  '__proto__',
  'constructor',
  '<script>alert(1)</script>',
  'null',
]
const filters = [
  '('.repeat(10_000),
  `${'not '.repeat(200)}true`,
  "name eq 'x' and ".repeat(400) + "name eq 'x'",
  "name eq 'unclosed",
  'name eq 5 add 3',
  `extId in (${Array.from({ length: 300 }, () => "'a'").join(',')})`,
  'a/any(b:b/any(c:c/any(d:d eq 1)))',
  `${'a/'.repeat(3000)}b eq 1`,
  "contains(name,'",
  "name eq '" + 'x'.repeat(9000) + "'",
]
const values: readonly unknown[] = [
  null,
  true,
  -1,
  2 ** 63,
  1.5,
  [],
  {},
  [[[[]]]],
  { a: { b: { c: {} } } },
  Array.from({ length: 2000 }, () => 1),
  ...texts,
]

/** An endless, repeatable stream. `draw` gives numbers in [0, 1). */
export function* hostileRequests(draw: () => number): Generator<HostileRequest> {
  const any = <T>(items: readonly T[]): T => items[Math.floor(draw() * items.length)] as T
  const value = (depth: number): unknown => {
    if (depth === 0 || draw() < 0.6) return any(values)
    if (draw() < 0.5) return Array.from({ length: Math.floor(draw() * 4) }, () => value(depth - 1))
    return Object.fromEntries(
      Array.from({ length: Math.floor(draw() * 4) }, () => [any(texts) || 'x', value(depth - 1)]),
    )
  }
  for (;;) {
    const operation: Operation = any(operations)
    const path = operation.path.replace(/\{\w+\}/g, () =>
      draw() < 0.5 ? encodeURIComponent(any(texts)) || '-' : '00000000-0000-4000-8000-000000000000',
    )
    const body = operation.body?.type === 'object' && draw() < 0.7 ? hostileObject(operation, draw, value) : value(3)
    const query =
      draw() < 0.5
        ? ''
        : `?${any(['$filter', '$orderby', '$select', '$expand', '$page', '$limit', '$apply', '$nonsense'])}=${encodeURIComponent(draw() < 0.6 ? any(filters) : any(texts))}`
    yield {
      method: operation.method,
      path: `/${operation.namespace}/${operation.versions[0]}${path}${query}`,
      // An empty body or a plain read could succeed; something is always wrong.
      ...(operation.method === 'GET'
        ? {}
        : { body: body ?? [], requestId: draw() < 0.5 ? 'not-a-uuid' : '00000000-0000-4000-8000-000000000001' }),
    }
  }
}

function hostileObject(operation: Operation, draw: () => number, value: (depth: number) => unknown): unknown {
  const fields = operation.body?.type === 'object' ? Object.keys(operation.body.fields) : []
  return {
    ...Object.fromEntries(fields.filter(() => draw() < 0.5).map((name) => [name, value(3)])),
    'no such field': value(1),
  }
}
