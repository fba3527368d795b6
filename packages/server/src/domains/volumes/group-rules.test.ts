import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessAfter, namingAfter } from './group-rules.ts'

const extId = '0d3b8c1e-5a52-4c5e-9a5b-6d8a52f0b1aa'
const secret = 'twelve-chars'
const withChap = {
  enabledAuthentications: 'CHAP',
  iscsiFeatures: { enabledAuthentications: 'CHAP', targetSecret: secret },
} as const

test('the authentication is shown in the fields that this or an earlier body used', () => {
  assert.deepEqual(accessAfter({ enabledAuthentications: 'NONE' }).access, { enabledAuthentications: 'NONE' })
  const { iscsiFeatures } = withChap
  assert.deepEqual(accessAfter({ iscsiFeatures }), { access: { iscsiFeatures }, faults: [] })
  const own = { enabledAuthentications: 'CHAP', iscsiFeatures: { targetSecret: secret } } as const
  assert.deepEqual(accessAfter(own).access, own)
  assert.deepEqual(accessAfter({ iscsiFeatures }, own).access, withChap)
})

test('different values in both authentication fields, CHAP without a secret, and a secret without CHAP are faults', () => {
  const faultsOf = (...given: Parameters<typeof accessAfter>) =>
    accessAfter(...given).faults.map((fault) => fault.appMessage.argumentsMap?.['attributePath'])
  assert.deepEqual(faultsOf({ enabledAuthentications: 'CHAP', iscsiFeatures: { enabledAuthentications: 'NONE' } }), [
    'iscsiFeatures/enabledAuthentications',
  ])
  assert.deepEqual(faultsOf({ enabledAuthentications: 'CHAP' }), ['iscsiFeatures/targetSecret'])
  assert.deepEqual(faultsOf({ iscsiFeatures: { targetSecret: secret } }), ['iscsiFeatures/targetSecret'])
  assert.deepEqual(faultsOf({ enabledAuthentications: 'NONE', iscsiFeatures: { targetSecret: secret } }), [
    'iscsiFeatures/targetSecret',
  ])
})

test('a body without a secret keeps the stored one, and disabling CHAP removes it', () => {
  assert.deepEqual(accessAfter({}, withChap).access, withChap)
  assert.deepEqual(accessAfter({ enabledAuthentications: 'CHAP' }, withChap).access, withChap)
  assert.deepEqual(accessAfter({ enabledAuthentications: 'NONE' }, withChap).access, {
    enabledAuthentications: 'NONE',
    iscsiFeatures: { enabledAuthentications: 'NONE' },
  })
})

test('the target name starts with the prefix, else with the name of the group', () => {
  const nameOf = (...given: Parameters<typeof namingAfter>) => namingAfter(...given).naming
  assert.deepEqual(nameOf(extId, { name: 'Orders DB_1' }), { targetName: `orders-db-1-${extId}` })
  assert.deepEqual(nameOf(extId, { name: 'x', targetPrefix: 'VG1' }), {
    targetPrefix: 'VG1',
    targetName: `vg1-${extId}`,
  })
  assert.deepEqual(nameOf(extId, { targetName: 'iqn.some.target' }), { targetName: 'iqn.some.target' })
})

test('a body that repeats both stored names is accepted, one with two new names is refused', () => {
  const stored = { targetPrefix: 'vg1', targetName: `vg1-${extId}` }
  assert.deepEqual(namingAfter(extId, stored, stored), { naming: stored, faults: [] })
  assert.equal(namingAfter(extId, { targetPrefix: 'a', targetName: 'twelve-chars' }, stored).faults.length, 1)
  assert.equal(namingAfter(extId, { targetPrefix: 'a'.repeat(476) }).faults.length, 1)
})
