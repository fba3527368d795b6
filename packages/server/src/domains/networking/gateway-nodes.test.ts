import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseNodes } from './gateway-nodes.ts'

const none = new Map<string, number>()

test('as many nodes as are asked for are taken, those first that carry the fewest ports', () => {
  assert.deepEqual(chooseNodes(['a', 'b', 'c'], [], 2, none), ['a', 'b'])
  assert.deepEqual(
    chooseNodes(
      ['a', 'b', 'c'],
      [],
      2,
      new Map([
        ['a', 2],
        ['b', 1],
      ]),
    ),
    ['c', 'b'],
  )
})

test('a node that still can stays, however much it carries, and one that cannot is replaced', () => {
  assert.deepEqual(chooseNodes(['a', 'b', 'c'], ['a'], 1, new Map([['a', 9]])), ['a'])
  assert.deepEqual(chooseNodes(['a', 'c'], ['b', 'a'], 2, none), ['a', 'c'])
})

test('fewer nodes are kept when fewer are asked for, and none where none can', () => {
  assert.deepEqual(chooseNodes(['a', 'b', 'c'], ['c', 'b'], 1, none), ['c'])
  assert.deepEqual(chooseNodes([], ['a'], 1, none), [])
})
