import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Collection } from '../world.ts'
import { type History, type Observation, recordPeriod } from './history.ts'

function aCollection() {
  const facts = new Map<string, History<string>>()
  const collection = {
    get: (id: string) => facts.get(id),
    all: () => facts,
    putAll: async (changed: ReadonlyMap<string, History<string>>) => {
      for (const [id, history] of changed) facts.set(id, history)
    },
    remove: async (id: string) => void facts.delete(id),
  } as unknown as Collection<History<string>>
  const at = (now: number, value?: string, merge?: (older: string, newer: string) => string): Promise<void> => {
    const observed = new Map<string, Observation<string>>(value === undefined ? [] : [['id', { value, since: now }]])
    return recordPeriod(collection, observed, ['id'], now, merge)
  }
  return { at, periods: () => facts.get('id')?.periods }
}

test('a value that appears and disappears at one moment leaves no history', async () => {
  const { at, periods } = aCollection()
  await at(1000, 'a')
  await at(1000)
  assert.equal(periods(), undefined)
})

test('a value that disappears or changes for no time continues its period', async () => {
  const { at, periods } = aCollection()
  await at(1000, 'a')
  await at(2000)
  await at(2000, 'a')
  assert.deepEqual(periods(), [{ from: 1000, value: 'a' }])
  await at(3000, 'b')
  await at(3000, 'a')
  assert.deepEqual(periods(), [{ from: 1000, value: 'a' }])
})

test('a value that changes or disappears for some time has one period for each state', async () => {
  const { at, periods } = aCollection()
  await at(1000, 'a')
  await at(2000, 'b')
  await at(3000)
  await at(4000, 'b')
  assert.deepEqual(periods(), [
    { from: 1000, to: 2000, value: 'a' },
    { from: 2000, to: 3000, value: 'b' },
    { from: 4000, value: 'b' },
  ])
})

test('what changes too often keeps its beginning if two values can be merged, and forgets it otherwise', async () => {
  for (const merge of [undefined, (older: string, newer: string): string => (older > newer ? older : newer)]) {
    const { at, periods } = aCollection()
    for (let minute = 1; minute <= 720; minute++) await at(60_000 * minute, minute % 2 === 0 ? 'open' : 'closed', merge)
    const [first, second] = periods()!
    assert.equal(periods()!.length, 501)
    assert.deepEqual(first, { from: merge === undefined ? 220 * 60_000 : 60_000, to: 221 * 60_000, value: 'open' })
    assert.deepEqual(second, { from: 221 * 60_000, to: 222 * 60_000, value: 'closed' })
  }
})

test('the beginning of what changed longer ago than statistics go back is kept, unless it was gone for a time', async () => {
  const day = 24 * 3600 * 1000
  const { at, periods } = aCollection()
  const last = (_: string, newer: string): string => newer
  for (const [now, value] of [[1, 'a'], [2], [3, 'b'], [4, 'c'], [100, 'd'], [101, 'e']] as const)
    await at(now * day, value, last)
  assert.deepEqual(periods(), [
    { from: 3 * day, to: 100 * day, value: 'c' },
    { from: 100 * day, to: 101 * day, value: 'd' },
    { from: 101 * day, value: 'e' },
  ])
})
