import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyedMutex } from './keyed-mutex.ts'

/** Work that ends when it is told to, and notes what happens. */
function aWork(turns: KeyedMutex, told: string[], name: string, ...names: string[]) {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const done = turns.runExclusive(names, async () => {
    told.push(`${name} begins`)
    await promise
    told.push(`${name} ends`)
  })
  return { done, end: resolve, fail: reject }
}

const turn = (): Promise<void> => new Promise(setImmediate)

test('those that ask for one name follow one another in the order of asking; others do not wait', async () => {
  const turns = new KeyedMutex()
  const told: string[] = []
  const first = aWork(turns, told, 'first', 'a')
  const second = aWork(turns, told, 'second', 'a')
  const other = aWork(turns, told, 'other', 'b')
  await turn()
  assert.deepEqual(told, ['first begins', 'other begins'])
  second.end()
  other.end()
  first.end()
  await Promise.all([first.done, second.done, other.done])
  assert.deepEqual(told.slice(-3), ['first ends', 'second begins', 'second ends'])
})

test('two that need the same names in another order both come to their turn', async () => {
  const turns = new KeyedMutex()
  const told: string[] = []
  const works = [aWork(turns, told, 'one', 'a', 'b'), aWork(turns, told, 'two', 'b', 'a')]
  for (const { end } of works) end()
  await Promise.all(works.map(({ done }) => done))
  assert.deepEqual(told, ['one begins', 'one ends', 'two begins', 'two ends'])
})

test('one that fails does not hold up those behind it', async () => {
  const turns = new KeyedMutex()
  const told: string[] = []
  const first = aWork(turns, told, 'first', 'a')
  const second = aWork(turns, told, 'second', 'a')
  first.fail(new Error('no'))
  second.end()
  await assert.rejects(first.done, /no/)
  await second.done
  assert.deepEqual(told, ['first begins', 'second begins', 'second ends'])
})
