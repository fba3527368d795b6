import assert from 'node:assert/strict'
import { test } from 'node:test'
import { immutable, object, optional, readOnly, resource, secret, since, text } from '@hyperplane/contract'
import { replaced, replacingChanges, sparselyUpdated } from './updates.ts'

const Kind = resource('test.v4.config.Kind', {
  name: text(),
  note: optional(text()),
  origin: immutable(optional(text())),
  state: readOnly(text()),
  password: secret(text()),
  newer: since('v4.2', optional(text())),
  inner: optional(object('', { note: optional(text()), key: secret(text()), newer: since('v4.2', optional(text())) })),
})
const stored: any = {
  extId: 'id',
  tenantId: 'tenant',
  internal: 1,
  name: 'old',
  note: 'old',
  origin: 'here',
  state: 'up',
  password: { $sealed: 'p' },
  newer: 'n',
  inner: { note: 'i', key: { $sealed: 'k' }, newer: 'in' },
}

test('a replacing PUT clears absent fields and keeps fields that a body cannot express', () => {
  assert.deepEqual(replaced(Kind, stored, { name: 'new', inner: {} }, 'v4.2'), {
    extId: 'id',
    tenantId: 'tenant',
    internal: 1,
    name: 'new',
    origin: 'here',
    state: 'up',
    password: { $sealed: 'p' },
    inner: { key: { $sealed: 'k' } },
  })
})

test('through an older version it keeps the fields of newer versions, at every level', () => {
  const next: any = replaced(Kind, stored, { name: 'new', inner: { note: 'j' } }, 'v4.0')
  assert.equal(next.newer, 'n')
  assert.deepEqual(next.inner, { note: 'j', key: { $sealed: 'k' }, newer: 'in' })
})

test('the changes of a replacing PUT name every field that a client may change, with null where it is cleared', () => {
  const body = { name: 'new', origin: 'here', inner: {} }
  assert.deepEqual(replacingChanges(Kind, body, 'v4.2'), { name: 'new', note: null, newer: null, inner: {} })
  const withSecret = { name: 'new', password: 'p' }
  assert.deepEqual(replacingChanges(Kind, withSecret, 'v4.0'), { name: 'new', note: null, password: 'p', inner: null })
})

test('a sparse PUT keeps absent fields, merges named objects one level deep, and replaces lists', () => {
  const before = { name: 'a', config: { x: 1, y: { z: 1 } }, other: { x: 1 }, list: [1, 2] }
  const next = sparselyUpdated(before, { config: { y: {} }, other: {}, list: [] }, ['config'])
  assert.deepEqual(next, { name: 'a', config: { x: 1, y: {} }, other: {}, list: [] })
})
