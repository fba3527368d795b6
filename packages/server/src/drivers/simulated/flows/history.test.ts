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
  const at = (now: number, value?: string): Promise<void> => {
    const observed = new Map<string, Observation<string>>(value === undefined ? [] : [['id', { value, since: now }]])
    return recordPeriod(collection, observed, ['id'], now)
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
