import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ODataFault } from './fault.ts'
import { parseSelect } from './parse.ts'
import { applySelection, checkSelect, type SelectRules } from './select.ts'
import { Machine } from './test-kind.ts'

const machine = {
  $objectType: 'test.v4.config.Machine',
  extId: 'id',
  name: 'n',
  state: 'ON',
  owner: { extId: 'o', name: 'on' },
  disks: [{ name: 'd1', sizeBytes: 1, image: { extId: 'i' } }, { name: 'd2' }],
  source: { $objectType: 'test.v4.config.Url', url: 'u' },
}

const select = (text: string, rules: Partial<SelectRules> = {}) =>
  checkSelect(parseSelect(text), {
    fields: ['name', 'owner', 'disks/name', 'source', 'password'],
    schema: Machine,
    ...rules,
  })
const selected = (text: string, rules: Partial<SelectRules> = {}) =>
  applySelection<unknown>(select(text, rules), machine)

const base = { $objectType: machine.$objectType, extId: 'id' }

test('keeps the selected fields, the id and the type', () => {
  assert.deepEqual(selected('name'), { ...base, name: 'n' })
  assert.deepEqual(selected('extId'), base)
  assert.deepEqual(selected('$objectType,name'), { ...base, name: 'n' })
  assert.deepEqual(selected('owner/name'), { ...base, owner: { name: 'on' } })
  assert.deepEqual(selected('owner(name)'), { ...base, owner: { name: 'on' } })
  assert.deepEqual(selected('owner(*)'), { ...base, owner: machine.owner })
  assert.deepEqual(selected('owner/name,owner'), { ...base, owner: machine.owner })
  assert.deepEqual(selected('owner,owner/name'), { ...base, owner: machine.owner })
  assert.deepEqual(selected('disks/name'), { ...base, disks: [{ name: 'd1' }, { name: 'd2' }] })
  assert.deepEqual(selected('source/url'), { ...base, source: machine.source })
  assert.equal(selected('*'), machine)
})

test('takes every field where all may be selected', () => {
  assert.deepEqual(selected('disks(name,image(extId))', { fields: 'any' }), {
    ...base,
    disks: [{ name: 'd1', image: { extId: 'i' } }, { name: 'd2' }],
  })
})

test('keeps expanded properties beside the selected fields', () => {
  const document = { ...machine, cluster: { name: 'c' } }
  assert.deepEqual(applySelection<unknown>(select('name'), document, ['cluster']), {
    ...base,
    name: 'n',
    cluster: { name: 'c' },
  })
})

test('refuses or, leniently, reports what cannot be selected', () => {
  for (const text of [
    'state',
    'nope',
    'disks',
    'disks/sizeBytes',
    'owner/nope',
    'password',
    '__proto__',
    'name/length',
  ]) {
    assert.throws(() => select(text), ODataFault, text)
    const { ignored, fields } = select(`name,${text}`, { lenient: true })
    assert.deepEqual(ignored, [text])
    assert.deepEqual(applySelection<unknown>({ fields, ignored }, machine), { ...base, name: 'n' })
  }
  assert.throws(() => select('password', { fields: 'any' }), /"password" is not available/)
  assert.throws(() => select('disks/key', { fields: 'any' }), ODataFault)
})

test('an option without remaining fields selects everything', () => {
  assert.equal(selected('nope', { lenient: true }), machine)
})
