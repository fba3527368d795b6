import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyedMutex } from './keyed-mutex.ts'

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

test('work with the same name runs in order of arrival; other work does not wait', async () => {
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

test('two that need the same names in opposite order do not deadlock', async () => {
  const turns = new KeyedMutex()
  const told: string[] = []
  const works = [aWork(turns, told, 'one', 'a', 'b'), aWork(turns, told, 'two', 'b', 'a')]
  for (const { end } of works) end()
  await Promise.all(works.map(({ done }) => done))
  assert.deepEqual(told, ['one begins', 'one ends', 'two begins', 'two ends'])
})

test('failed work releases its names', async () => {
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
