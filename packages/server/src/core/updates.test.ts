import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  arrayOf,
  immutable,
  object,
  oneOf,
  optional,
  readOnly,
  resource,
  secret,
  since,
  text,
} from '@hyperplane/contract'
import { created, replaced, replacingChanges, sparseChanges, sparselyUpdated, withoutNulls } from './updates.ts'

const Kind = resource('test.v4.config.Kind', {
  fields: {
    name: text(),
    note: optional(text()),
    origin: immutable(optional(text())),
    state: readOnly(text()),
    password: secret(text()),
    newer: since('v4.2', optional(text())),
    inner: optional(
      object('', { note: optional(text()), key: secret(text()), newer: since('v4.2', optional(text())) }),
    ),
  },
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

const context = { ids: { uuid: () => 'new id' }, tenantId: 'own tenant' }

test('a new entity has an id, the tenant and every writable field of the body, with secrets as they were sent', () => {
  const body = { name: 'new', note: 'n', password: 'p', inner: { key: 'k' } }
  assert.deepEqual(created(context, Kind, body), { extId: 'new id', tenantId: 'own tenant', ...body })
})

test('a new entity takes no read-only, internal or undeclared field from the body, at any level', () => {
  const Part = object('test.v4.config.Part', { size: text(), state: readOnly(text()) })
  const Other = object('test.v4.config.Other', { kind: text() })
  const Whole = resource('test.v4.config.Whole', {
    fields: {
      state: readOnly(text()),
      part: Part,
      parts: arrayOf(Part),
      either: oneOf(Part, Other),
    },
  })
  const sent = { size: '1', state: 'sent', undeclared: 1 }
  const either = { $objectType: 'test.v4.config.Part', ...sent }
  const body = { extId: 'sent', tenantId: 'sent', state: 'sent', internal: 1, part: sent, parts: [sent], either }
  assert.deepEqual(created(context, Whole, body), {
    extId: 'new id',
    tenantId: 'own tenant',
    part: { size: '1' },
    parts: [{ size: '1' }],
    either: { $objectType: 'test.v4.config.Part', size: '1' },
  })
})

test('fields that the service derives replace those of the body, and undefined leaves a field out', () => {
  const derived = { extId: 'derived', name: 'derived', note: undefined, state: 'up' }
  const body = { name: 'sent', note: 'sent', password: 'p' }
  assert.deepEqual(created(context, Kind, body, derived), {
    extId: 'derived',
    tenantId: 'own tenant',
    name: 'derived',
    state: 'up',
    password: 'p',
  })
})

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

test('a replacing PUT takes no read-only, internal or undeclared field from the body', () => {
  const { state: _, ...others } = stored
  const body = { name: 'new', state: 'sent', internal: 2, undeclared: 1, inner: { note: 'n', undeclared: 1 } }
  const next: any = replaced(Kind, others, body, 'v4.2')
  assert.deepEqual([next.state, next.internal, next.undeclared], [undefined, 1, undefined])
  assert.deepEqual(next.inner, { note: 'n', key: { $sealed: 'k' } })
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

test('the changes of a PATCH are the fields of the body that a client may change', () => {
  assert.deepEqual(sparseChanges(Kind, { note: 'n', origin: 'there', state: 'sent' }), { note: 'n' })
})

test('a cleared field is undefined for the store', () => {
  assert.deepEqual(withoutNulls({ note: null, name: 'n' }), { note: undefined, name: 'n' })
})

test('a sparse PUT keeps absent fields, merges named objects one level deep, and replaces lists', () => {
  const before = { name: 'a', config: { x: 1, y: { z: 1 } }, other: { x: 1 }, list: [1, 2] }
  const next = sparselyUpdated(before, { config: { y: {} }, other: {}, list: [] }, ['config'])
  assert.deepEqual(next, { name: 'a', config: { x: 1, y: {} }, other: {}, list: [] })
})

test('a replacement keeps an omitted secret inside an alternative, unless another alternative is sent', () => {
  const inA = object('test.v4.config.A', { key: secret(text()), note: optional(text()) })
  const inB = object('test.v4.config.B', { key: secret(text()) })
  const Choice = resource('test.v4.config.Choice', { fields: { choice: oneOf(inA, inB) } })
  const a = { $objectType: 'test.v4.config.A' }
  const before: any = { extId: 'id', choice: { ...a, key: { $sealed: 'k' }, note: 'old' } }
  const after = (choice: object): unknown => (replaced(Choice, before, { choice }, 'v4.2') as any).choice
  assert.deepEqual(after(a), { ...a, key: { $sealed: 'k' } })
  assert.deepEqual(after({ ...a, key: 'new' }), { ...a, key: 'new' })
  assert.deepEqual(after({ $objectType: 'test.v4.config.B' }), { $objectType: 'test.v4.config.B' })
})
