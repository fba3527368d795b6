import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashOf, ReadBefore } from './read-before.ts'

test('a text counts as read before from its second read on', () => {
  const before = new ReadBefore(100)
  assert.deepEqual(
    [before.note(hashOf('one'), 10), before.note(hashOf('two'), 10), before.note(hashOf('one'), 10)],
    [false, false, true],
  )
})

test('a client that polls fewer rows than the cache holds has all of them cached', () => {
  const before = new ReadBefore(1000)
  const poll = (): boolean[] => Array.from({ length: 50 }, (_, row) => before.note(hashOf(`row ${row}`), 10))
  assert.deepEqual(poll(), new Array(50).fill(false))
  assert.deepEqual(poll(), new Array(50).fill(true))
})

test('a client that walks through more rows than the cache holds replaces nothing', () => {
  const before = new ReadBefore(1000)
  for (let round = 0; round < 3; round++)
    for (let row = 0; row < 500; row++) assert.equal(before.note(hashOf(`row ${row}`), 10), false)
})
