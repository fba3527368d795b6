import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createIds } from './ids.ts'

const uuidV4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('ids are well formed, follow from the seed, and do not repeat', () => {
  const [one, same, other] = [createIds('a'), createIds('a'), createIds('b')]
  const drawn = Array.from({ length: 1000 }, () => one.uuid())
  for (const id of drawn) assert.match(id, uuidV4)
  assert.equal(new Set(drawn).size, drawn.length)
  assert.deepEqual(
    Array.from({ length: 1000 }, () => same.uuid()),
    drawn,
  )
  assert.ok(!drawn.includes(other.uuid()))
})

test('the stream of one purpose does not depend on other draws', () => {
  const [one, other] = [createIds('a'), createIds('a')]
  other.uuid()
  other.of('call 2').uuid()
  assert.equal(one.of('call 1').uuid(), other.of('call 1').uuid())
  assert.notEqual(one.of('call 1').uuid(), one.of('call 2').uuid())
})

test('numbers are in [0, 1) and spread', () => {
  const ids = createIds('a')
  const drawn = Array.from({ length: 2000 }, () => ids.random())
  assert.ok(drawn.every((number) => number >= 0 && number < 1))
  const mean = drawn.reduce((sum, number) => sum + number, 0) / drawn.length
  assert.ok(Math.abs(mean - 0.5) < 0.03, String(mean))
})
