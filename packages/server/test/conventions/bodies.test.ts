/** Fields that every body refuses or keeps, generated from the contract. Source: behaviour conventions 3, 13. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AnySchema, contract, type Operation, secretMask } from '@hyperplane/contract'
import { validateBody } from '../../src/core/input/validate.ts'
import { filledBody } from '../../src/core/pipeline/kept-secrets.ts'

interface Leaf {
  readonly path: string
  readonly field: Extract<AnySchema, { type: 'text' }>
  /** The path of the object around it that is sealed as a whole; undefined outside such objects. */
  readonly sealedAt: string | undefined
  /** A body that holds this value there, and nothing else. */
  bodyWith(value: unknown): unknown
}

/** Every text that a client may send; the object types say which alternative a body is of. */
function* textsIn(
  schema: AnySchema,
  path = '',
  wrap: (value: unknown) => unknown = (value) => value,
  around?: string,
): Generator<Leaf> {
  if (schema.readOnly === true) return
  const sealedAt = around ?? (schema.secret === true && schema.type !== 'text' ? path : undefined)
  if (schema.type === 'text') yield { path, field: schema, sealedAt, bodyWith: wrap }
  else if (schema.type === 'list') yield* textsIn(schema.items, `${path}[0]`, (value) => wrap([value]), sealedAt)
  else if (schema.type === 'oneOf') {
    for (const alternative of schema.alternatives) {
      if (alternative.type !== 'object') continue
      const { objectType } = alternative
      const typed = (value: unknown) => wrap({ $objectType: objectType, ...(value as object) })
      yield* textsIn(alternative, path, typed, sealedAt)
    }
  } else if (schema.type === 'object') {
    for (const [name, field] of Object.entries(schema.fields)) {
      const below = (value: unknown) => wrap({ [name]: value })
      yield* textsIn(field, path === '' ? name : `${path}/${name}`, below, sealedAt)
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

test('a blank name is refused in every body', () => {
  const names = texts.filter(({ leaf: { path, field } }) => field.isName === true || /[nN]ame(\[0\])?$/.test(path))
  assert.ok(names.length > 100, `only ${names.length} names`)
  for (const { operation, leaf } of names) {
    for (const blanks of [' ', '   ', '\u00a0 ', '\u3000'])
      assert.notDeepEqual(faultsAt(operation, leaf, blanks), [], `${operation.key} ${leaf.path}`)
  }
})

test('an empty secret is refused in a create, and keeps the stored one in every update', () => {
  const secrets = texts.filter(({ leaf }) => leaf.field.secret === true)
  assert.ok(secrets.length > 15, `only ${secrets.length} secrets`)
  for (const { operation, leaf } of secrets) {
    const keeps = operation.verb === 'update'
    assert.equal(faultsAt(operation, leaf, '').length === 0, keeps, `${operation.key} ${leaf.path}`)
    if (keeps) assert.deepEqual(faultsAt(operation, leaf, secretMask), [], `${operation.key} ${leaf.path}`)
  }
})

const at = (value: unknown, path: string): any =>
  path.split(/\/|\[0\]\/?/).reduce<any>((item, name) => (Array.isArray(item) ? item[0] : item)?.[name], value)
const kept = texts.filter(({ operation, leaf }) => operation.verb === 'update' && leaf.field.secret === true)
const cleanBody = (operation: Operation, body: unknown): unknown =>
  validateBody(operation.body as AnySchema, body, {
    unknown: 'refuse',
    version: operation.versions[0] as string,
    sparse: true,
    defaults: false,
    replaces: true,
  }).value

test('a secret that an update sends empty, or as the mask, is no part of the body', () => {
  for (const { operation, leaf } of kept) {
    if (leaf.sealedAt !== undefined) continue
    for (const value of ['', secretMask])
      assert.equal(
        at(cleanBody(operation, leaf.bodyWith(value)), leaf.path),
        undefined,
        `${operation.key} ${leaf.path}`,
      )
  }
})

test('inside an object that is sealed as a whole, an update that sends a secret empty or masked has the stored one', () => {
  const sealed = kept.filter(({ leaf }) => leaf.sealedAt !== undefined)
  assert.ok(sealed.length > 6, `only ${sealed.length} secrets`)
  for (const { operation, leaf } of sealed) {
    const place = `${operation.key} ${leaf.path}`
    const stored = leaf.bodyWith('the stored secret')
    const open = (path: string): unknown => (path === leaf.sealedAt ? at(stored, path) : undefined)
    for (const value of ['', secretMask]) {
      const clean: any = cleanBody(operation, leaf.bodyWith(value))
      const filled = filledBody(operation.body as AnySchema, clean, stored, open)
      // The object as a whole is left out where it holds nothing but what is kept.
      assert.deepEqual([at(filled.value, leaf.sealedAt as string), filled.faults], [undefined, []], place)

      const changed = structuredClone(clean)
      at(changed, leaf.sealedAt as string).added = 'another value'
      const { value: whole, faults } = filledBody(operation.body as AnySchema, changed, stored, open)
      assert.deepEqual([at(whole, leaf.path), faults], ['the stored secret', []], place)

      const refused = filledBody(operation.body as AnySchema, clean, {}, () => undefined)
      assert.equal(at(refused.value, leaf.path), undefined, place)
      assert.equal(refused.faults.length, leaf.field.optional === true ? 0 : 1, place)
    }
  }
})
