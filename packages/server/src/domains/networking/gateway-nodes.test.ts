import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseNodes } from './gateway-nodes.ts'

const none = new Map<string, number>()

test('the requested number of nodes is chosen, those with the fewest ports first', () => {
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

test('a present node that is able stays whatever its number of ports, and one that is not able is replaced', () => {
  assert.deepEqual(chooseNodes(['a', 'b', 'c'], ['a'], 1, new Map([['a', 9]])), ['a'])
  assert.deepEqual(chooseNodes(['a', 'c'], ['b', 'a'], 2, none), ['a', 'c'])
})

test('surplus nodes are dropped when fewer are requested, and no node is chosen when none is able', () => {
  assert.deepEqual(chooseNodes(['a', 'b', 'c'], ['c', 'b'], 1, none), ['c'])
  assert.deepEqual(chooseNodes([], ['a'], 1, none), [])
})
