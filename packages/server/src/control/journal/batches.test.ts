import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Batches } from './batches.ts'
import type { CallText } from './protocol.ts'

const call = (bytes: number): CallText => ({ began: 0, ended: 0, shared: '', own: 'x'.repeat(bytes) })

test('batches of many journals take little more memory than their calls', () => {
  const batches = new Batches()
  let held = 0
  for (let index = 0; index < 500; index++) {
    batches.add(`journal ${index}`, call(1000))
    for (const { buffer } of batches.takeBatch(`journal ${index}`).parts) held += buffer.byteLength
  }
  assert.ok(held < 500 * 2 * 1100, String(held))
})

test('calls above 64 MiB in flight are dropped and counted', () => {
  const batches = new Batches()
  const taken = []
  for (let index = 0; index < 100; index++) {
    batches.add('journal', call(1024 * 1024))
    taken.push(batches.takeBatch('journal'))
  }
  const missed = taken.reduce((sum, batch) => sum + batch.missed, 0)
  assert.ok(missed > 35 && missed < 40, String(missed))
  for (const { parts } of taken) batches.release(parts)
  batches.add('journal', call(1024 * 1024))
  assert.equal(batches.takeBatch('journal').parts.length, 1)
})

test('a long call shares the buffer of the next one', () => {
  const batches = new Batches()
  for (let index = 0; index < 2; index++) batches.add('journal', call(60_000))
  assert.equal(batches.takeBatch('journal').parts.length, 1)
})

test('a dropped journal gets no report of lost calls', () => {
  const batches = new Batches()
  batches.noteLost('journal', 3)
  assert.deepEqual([...batches.folders()], ['journal'])
  batches.drop('journal')
  assert.deepEqual([...batches.folders()], [])
})
