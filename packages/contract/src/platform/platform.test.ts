import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '../index.ts'
import { perSecond } from '../operation.ts'
import { systemRoles } from '../roles.ts'
import { type AnySchema, walk } from '../schema.ts'
import { platformErrors } from './errors.ts'
import { platform } from './index.ts'
import { productName } from './product.ts'

const operation = (id: string) => {
  const found = platform.operations.find((one) => one.id === id)
  assert.ok(found, `${id} is declared`)
  return found
}
const fieldOf = (schema: AnySchema, path: string): AnySchema | undefined =>
  [...walk(schema)].find((at) => at.path.join('/') === path)?.schema

test('every operation names roles that exist, without doubles', () => {
  for (const { id, roles } of platform.operations) {
    if (roles === 'everyone') continue
    assert.ok(roles.includes('Super Admin'), id)
    assert.equal(new Set(roles).size, roles.length, id)
    for (const role of roles) assert.ok(systemRoles.includes(role), `${id}: ${role}`)
  }
})

test('rates and deployments are those of the specification', () => {
  assert.deepEqual(operation('submitBatch').rateLimit, { per: 'minute', small: 6 })
  assert.deepEqual(operation('submitBatch').deployments, ['on-prem'])
  assert.deepEqual(operation('createCategory').rateLimit, perSecond(10))
  assert.deepEqual(operation('getCategoryById').rateLimit, perSecond(20))
  assert.deepEqual(operation('listRestorePoints').rateLimit, perSecond(5))
})

test('role lists are as long as those of the specification', () => {
  assert.equal(operation('submitBatch').roles.length, 5)
  assert.equal(operation('createCategory').roles.length, 11)
  assert.equal(operation('getCategoryById').roles.length, 25)
  assert.equal(operation('listRestorePoints').roles.length, 5)
})

test('preconditions are required exactly where they are marked so', () => {
  const ids = (of: readonly { id: string }[]) => of.map((one) => one.id).sort()
  assert.deepEqual(ids(platform.operations.filter((one) => one.ifMatch === 'required')), [
    'deleteBackupTargetById',
    'deleteRestoreSourceById',
    'register',
    'unregister',
    'updateBackupTargetById',
    'updateCategoryById',
    'updateProductById',
  ])
  assert.deepEqual(ids(platform.operations.filter((one) => one.requestId === 'required')), [
    'createBackupTarget',
    'createDomainManager',
    'deleteBackupTargetById',
    'register',
    'submitBatch',
    'unregister',
    'updateBackupTargetById',
  ])
})

test('answers with the statuses of the kinds that are synchronous', () => {
  const expected = {
    cancelTask: 200,
    createCategory: 201,
    createRestoreSource: 201,
    deleteCategoryById: 204,
    deleteRestoreSourceById: 204,
    submitBatch: 202,
    updateCategoryById: 200,
  }
  for (const [id, status] of Object.entries(expected)) assert.equal(operation(id).status, status, id)
})

test('every field that a list may filter, order or select by exists', () => {
  for (const { id, answer, filter = [], orderby = [], select = [] } of platform.operations) {
    if (answer?.type !== 'list') continue
    for (const path of [...filter, ...orderby, ...(select === 'any' ? [] : select)]) {
      assert.ok(fieldOf(answer.items, path), `${id}: ${path}`)
    }
  }
})

test('task ids are task ids everywhere', () => {
  const task = operation('getTaskById').answer as AnySchema
  for (const path of ['extId', 'parentTask/extId', 'rootTask/extId', 'subTasks/extId']) {
    assert.equal(fieldOf(task, path)?.type, 'taskId', path)
  }
  assert.equal(operation('cancelTask').pathKinds['taskExtId'], 'Task')
  assert.equal(operation('getTaskJobById').pathKinds['taskExtId'], 'Task')
})

test('keys and values of categories refuse separators, and `$` in front', () => {
  const key = fieldOf(operation('createCategory').body as AnySchema, 'key')
  assert.ok(key?.type === 'text' && key.pattern !== undefined)
  const pattern = new RegExp(key.pattern, 'u')
  for (const good of ['a', 'a$', 'CostCenter', 'a b', 'a-b_c.d', 'é'.repeat(64)]) assert.match(good, pattern)
  for (const bad of ['', '$a', 'a/b', '/a', 'a:b', "a'b", 'a\\b', 'a[b', 'a]b', 'a^b', 'a&b', 'a|b', 'x'.repeat(65)]) {
    assert.doesNotMatch(bad, pattern)
  }
})

test('a batch may name any operation by its path', () => {
  const uri = fieldOf(operation('submitBatch').body as AnySchema, 'metadata/uri')
  assert.ok(uri?.type === 'text' && uri.pattern !== undefined)
  const pattern = new RegExp(uri.pattern, 'u')
  for (const good of [
    '/api/platform/v4.3/config/categories',
    '/api/prism/v4.3/config/categories/{extId}',
    '/api/iam/v4.1.b2/authn/users',
    '/api/vmm/v4.2/ahv/config/vms/{extId}/$actions/power-on',
  ]) {
    assert.match(good, pattern)
  }
  for (const bad of ['config/categories', '/api/platform/config/categories', 'https://h/api/platform/v4.3/x']) {
    assert.doesNotMatch(bad, pattern)
  }
})

test('errors are sorted and every error that a kind names exists', () => {
  const keys = Object.keys(platformErrors)
  assert.deepEqual(keys, [...keys].sort())
  for (const { kind, notFound, unique } of platform.resources) {
    for (const key of [notFound, ...unique.map((rule) => rule.error)]) {
      if (key !== undefined) assert.ok(keys.includes(key), `${kind}: ${key}`)
    }
  }
})

test('every gate names a product that exists, and fields that its kind has', () => {
  const names: readonly string[] = productName.values
  const wrong = contract
    .flatMap(({ resources }) => resources)
    .filter(({ gate }) => gate !== undefined)
    .filter(
      ({ gate, schema }) =>
        !names.includes(gate?.product ?? '') ||
        Object.keys(gate?.where ?? {}).some((field) => !(field in schema.fields)),
    )
  assert.deepEqual(
    wrong.map(({ kind }) => kind),
    [],
  )
})
