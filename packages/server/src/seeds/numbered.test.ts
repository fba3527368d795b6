import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachOf, withNumber } from './numbered.ts'

test('the number replaces every placeholder', () => {
  const item = { name: 'web-{n}', nics: [{ subnet: 'net-{nnn}' }], vcpus: 2, count: 12 }
  const all = [...eachOf(item)]
  assert.equal(all.length, 12)
  assert.deepEqual(all[11], [{ name: 'web-12', nics: [{ subnet: 'net-012' }], vcpus: 2, count: 12 }, 12])
})

test('without a count there is one, unchanged', () => {
  assert.deepEqual([...eachOf({ name: '{n}' })], [[{ name: '{n}' }, 1]])
  assert.equal(withNumber('{x}{n', 3), '{x}{n')
})
