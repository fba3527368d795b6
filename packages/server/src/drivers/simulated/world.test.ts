import assert from 'node:assert/strict'
import { test } from 'node:test'
import { realClock } from '../../core/time/clock.ts'
import { type FactStore, openSimulatedWorld } from './world.ts'

const aWorld = (stage: FactStore['stage']) => {
  const nothing = async (): Promise<void> => undefined
  return openSimulatedWorld({ load: async () => [], put: nothing, remove: nothing, stage }, realClock, 'seed')
}

test('a staged fact is visible once it is written, before it is durable', async () => {
  const { promise: durable, resolve } = Promise.withResolvers<void>()
  const world = await aWorld(() => ({ applied: Promise.resolve(), durable }))
  await world.collection('lamps').stage('one', 'on')
  assert.equal(world.collection('lamps').get('one'), 'on')
  resolve()
  await durable
  assert.equal(world.lost(), 0)
})

test('a fact whose commit fails is reverted, and counts as lost', async () => {
  const failed = Promise.withResolvers<void>()
  const world = await aWorld(() => ({ applied: Promise.resolve(), durable: failed.promise }))
  const lamps = world.collection('lamps')
  await lamps.put('one', 'off')
  await lamps.stage('one', 'on')
  failed.reject(new Error('the disk is full'))
  await assert.rejects(failed.promise)
  assert.deepEqual([lamps.get('one'), world.lost()], ['off', 1])
})

test('a fact that cannot be written is refused, and the old one stays', async () => {
  const world = await aWorld(() => ({ applied: Promise.reject(new Error('no')), durable: Promise.resolve() }))
  const lamps = world.collection('lamps')
  await assert.rejects(lamps.stage('one', 'on'), /no/)
  assert.equal(lamps.get('one'), undefined)
})
