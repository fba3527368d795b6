import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Semaphore } from './semaphore.ts'

test('waiters get freed slots in order of arrival', async () => {
  const slots = new Semaphore(1)
  const began: string[] = []
  const first = Promise.withResolvers<void>()
  const all = [
    slots.use(() => first.promise),
    slots.use(async () => void began.push('second')),
    slots.use(async () => void began.push('third')),
  ]
  assert.deepEqual(began, [])
  first.resolve()
  await Promise.all(all)
  assert.deepEqual(began, ['second', 'third'])
})

test('a waiter whose signal aborts, or was aborted before, rejects and takes no slot', async () => {
  const slots = new Semaphore(1)
  const first = Promise.withResolvers<void>()
  const running = slots.use(() => first.promise)
  const patience = new AbortController()
  const waiting = slots.use(async () => assert.fail('began'), patience.signal)
  patience.abort(new Error('too late'))
  await assert.rejects(waiting, /too late/)
  await assert.rejects(
    slots.use(async () => assert.fail('began'), patience.signal),
    /too late/,
  )
  first.resolve()
  await running
  assert.equal(await slots.use(async () => 'room again'), 'room again')
})
