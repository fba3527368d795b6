/** What every body refuses or keeps, field by field, generated from the contract. Source: behaviour conventions 3, 13. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AnySchema, contract, type Operation, secretMask } from '@hyperplane/contract'
import { validateBody } from '../../src/core/input/validate.ts'

interface Leaf {
  readonly path: string
  readonly field: Extract<AnySchema, { type: 'text' }>
  /** A body that holds this value there, and nothing else. */
  bodyWith(value: unknown): unknown
}

/** Every text that a client may send at a place which needs no choice between alternatives. */
function* textsIn(schema: AnySchema, path = '', wrap: (value: unknown) => unknown = (value) => value): Generator<Leaf> {
  if (schema.readOnly === true) return
  if (schema.type === 'text') yield { path, field: schema, bodyWith: wrap }
  else if (schema.type === 'list') yield* textsIn(schema.items, `${path}[0]`, (value) => wrap([value]))
  else if (schema.type === 'object') {
    for (const [name, field] of Object.entries(schema.fields)) {
      yield* textsIn(field, path === '' ? name : `${path}/${name}`, (value) => wrap({ [name]: value }))
    }
  }
}

const operations = contract.flatMap((namespace) => namespace.operations).filter(({ body }) => body !== undefined)
const texts = operations.flatMap((operation) =>
  [...textsIn(operation.body as AnySchema)].map((leaf) => ({ operation, leaf })),
)

const faultsAt = (operation: Operation, { path, bodyWith }: Leaf, value: unknown): readonly string[] =>
  validateBody(operation.body as AnySchema, bodyWith(value), {
    unknown: 'refuse',
    version: operation.versions[0] as string,
    sparse: false,
    defaults: false,
    replaces: operation.verb === 'update',
  }).faults.flatMap(({ attributePath, message }) => (attributePath === path ? [message] : []))

test('a name of only blanks is refused in every body', () => {
  const names = texts.filter(({ leaf: { path, field } }) => field.isName === true || /[nN]ame(\[0\])?$/.test(path))
  assert.ok(names.length > 100, `only ${names.length} names`)
  for (const { operation, leaf } of names) {
    for (const blanks of [' ', '   ', '\u00a0 ', '\u3000'])
      assert.notDeepEqual(faultsAt(operation, leaf, blanks), [], `${operation.key} ${leaf.path}`)
  }
})

test('an empty secret is refused where there is none to keep, and keeps the stored one in every update', () => {
  const secrets = texts.filter(({ leaf }) => leaf.field.secret === true)
  assert.ok(secrets.length > 15, `only ${secrets.length} secrets`)
  for (const { operation, leaf } of secrets) {
    const keeps = operation.verb === 'update' && leaf.field.optional === true
    assert.equal(faultsAt(operation, leaf, '').length === 0, keeps, `${operation.key} ${leaf.path}`)
    if (keeps) assert.deepEqual(faultsAt(operation, leaf, secretMask), [], `${operation.key} ${leaf.path}`)
  }
})

test('a secret that an update sends empty, or as the mask, is no part of the body', () => {
  for (const { operation, leaf } of texts) {
    if (operation.verb !== 'update' || leaf.field.secret !== true || leaf.field.optional !== true) continue
    for (const value of ['', secretMask]) {
      const options = {
        unknown: 'refuse',
        version: operation.versions[0] as string,
        sparse: true,
        defaults: false,
      } as const
      const clean = validateBody(operation.body as AnySchema, leaf.bodyWith(value), {
        ...options,
        replaces: true,
      }).value
      const at = leaf.path
        .split(/\/|\[0\]\/?/)
        .reduce<any>((item, name) => (Array.isArray(item) ? item[0] : item)?.[name], clean)
      assert.equal(at, undefined, `${operation.key} ${leaf.path}`)
    }
  }
})
