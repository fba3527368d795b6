import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../api-error.ts'
import { FailedSignIns, failuresPerMinute } from './failed-sign-ins.ts'

let now = 0
const counter = (enabled = true): FailedSignIns => new FailedSignIns({ real: { now: () => now }, enabled })
const isRefused = (failures: FailedSignIns, address: string): string | undefined => {
  try {
    failures.admit(address)
    return undefined
  } catch (error) {
    assert.ok(error instanceof ApiError && error.status === 429)
    return error.headers['Retry-After']
  }
}
const fail = (failures: FailedSignIns, address: string, times = failuresPerMinute): void => {
  for (let i = 0; i < times; i++) failures.count(address)
}

test('sixty failures within a minute refuse the address, and no other, until the oldest is a minute old', () => {
  now = 1_000_000
  const failures = counter()
  fail(failures, 'a', failuresPerMinute - 1)
  assert.equal(isRefused(failures, 'a'), undefined)
  now += 20_000
  failures.count('a')
  assert.equal(isRefused(failures, 'a'), '40')
  assert.equal(isRefused(failures, 'b'), undefined)
  now += 40_000
  assert.equal(isRefused(failures, 'a'), undefined)
})

test('of many concurrent attempts that fail, sixty run; the others are refused before they run', async () => {
  const failures = counter()
  let runs = 0
  const attempts = Array.from({ length: 200 }, () =>
    failures.attempt('a', async () => {
      runs++
      await Promise.resolve()
      failures.count('a')
    }),
  )
  const outcomes = await Promise.allSettled(attempts)
  assert.equal(runs, failuresPerMinute)
  assert.equal(outcomes.filter(({ status }) => status === 'rejected').length, 140)
})

test('of many concurrent attempts that succeed, all run', async () => {
  const failures = counter()
  const attempts = Array.from({ length: 200 }, () => failures.attempt('a', () => Promise.resolve('in')))
  assert.deepEqual(await Promise.all(attempts), Array(200).fill('in'))
})

test('an attempt that throws makes room for the next one', async () => {
  const failures = counter()
  const attempts = Array.from({ length: 100 }, () => failures.attempt('a', () => Promise.reject(new Error('broken'))))
  const outcomes = await Promise.allSettled(attempts)
  assert.ok(outcomes.every((one) => one.status === 'rejected' && one.reason.message === 'broken'))
})

test('the number of counted addresses is bounded: the one with the oldest failure is dropped', () => {
  const failures = counter()
  fail(failures, 'first')
  for (let i = 0; i < 20_000; i++) failures.count(`address ${i}`)
  assert.equal(isRefused(failures, 'first'), undefined)
  fail(failures, 'last')
  assert.notEqual(isRefused(failures, 'last'), undefined)
})

test('switched off, nothing is counted and no attempt waits', async () => {
  const failures = counter(false)
  fail(failures, 'a', 500)
  assert.equal(isRefused(failures, 'a'), undefined)
})
