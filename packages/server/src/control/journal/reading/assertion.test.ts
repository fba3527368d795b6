import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatTime } from '../../../core/time/time.ts'
import { type CallAssertion, evaluateAssertion, longestWaitMilliseconds } from './assertion.ts'
import { readCallFilter } from './call-filter.ts'

const beginning = Date.parse('2026-03-02T09:00:00Z')

function aSite(mode: 'frozen' | 'real' = 'frozen') {
  let calls = 0
  let world = beginning
  let real = 0
  const told = new Set<() => void>()
  const looks: (() => void)[] = []
  const asked: (readonly unknown[])[] = []
  const site = {
    journal: {
      ending: new AbortController().signal,
      async tally({ after }: { after: number }) {
        const count = calls - after
        return { count, matching: Array.from({ length: count }, (_, index) => after + index + 1), last: calls }
      },
      async near(terms: readonly unknown[]) {
        asked.push(terms)
        return [JSON.stringify({ sequence: 7, status: 409, operation: 'vmm.createVm', caller: { name: 'x' } })]
      },
      changed: (signal: AbortSignal) =>
        new Promise<void>((resolve) => {
          told.add(resolve)
          signal.addEventListener('abort', () => resolve())
        }),
    },
    clock: { now: () => world, mode },
    real: {
      now: () => real,
      setTimer(ms: number, run: () => void) {
        const timer = setImmediate(() => {
          real += ms
          if (mode === 'real') world += ms
          looks.shift()?.()
          run()
        })
        return () => clearImmediate(timer)
      },
    },
  }
  return {
    settle: (asserted: Partial<CallAssertion>) =>
      evaluateAssertion(site, { filter: undefined, withinMilliseconds: 0, ...asserted }),
    /** By number of the reading of the clock. */
    later: (...work: (() => void)[]) => void looks.push(...work),
    record: (count = 1) => {
      calls += count
    },
    advance: (ms: number) => {
      world += ms
    },
    realTime: () => real,
    asked,
  }
}

test('without a timeout an assertion answers at once', async () => {
  const site = aSite()
  assert.deepEqual((await site.settle({})).isHeld, false)
  site.record(2)
  const { isHeld, count, endedBy, matching } = await site.settle({ atLeast: 2 })
  assert.deepEqual({ isHeld, count, endedBy, matching }, { isHeld: true, count: 2, endedBy: 'count', matching: [1, 2] })
  assert.equal((await site.settle({ exactly: 2 })).isHeld, true)
  assert.equal((await site.settle({ exactly: 1 })).isHeld, false)
  assert.equal((await site.settle({ atMost: 2 })).isHeld, true)
  assert.equal((await site.settle({ atMost: 1 })).isHeld, false)
})

test('waits for calls in time while the clock runs', async () => {
  const site = aSite('real')
  site.later(
    () => site.record(),
    () => site.record(),
  )
  const { isHeld, count, endedBy } = await site.settle({ atLeast: 2, withinMilliseconds: 5000 })
  assert.deepEqual({ isHeld, count, endedBy }, { isHeld: true, count: 2, endedBy: 'count' })
})

test('ends when the world clock reaches the timeout', async () => {
  const site = aSite()
  site.later(
    () => site.record(),
    () => site.advance(3_600_000),
  )
  const { isHeld, count, endedBy, time } = await site.settle({ atLeast: 2, withinMilliseconds: 3_600_000 })
  assert.deepEqual({ isHeld, count, endedBy }, { isHeld: false, count: 1, endedBy: 'time' })
  assert.equal(time, formatTime(beginning + 3_600_000))
})

test('atMost holds when the time is over, and fails with the first call too many', async () => {
  const over = aSite('real')
  over.later(() => over.record())
  assert.deepEqual((await over.settle({ atMost: 1, withinMilliseconds: 1000 })).endedBy, 'time')
  const failing = aSite('real')
  failing.later(() => failing.record(2))
  const { isHeld, endedBy } = await failing.settle({ atMost: 1, withinMilliseconds: 1_000_000 })
  assert.deepEqual({ isHeld, endedBy }, { isHeld: false, endedBy: 'count' })
})

test('while the clock is frozen, the timeout counts real time', async () => {
  const site = aSite()
  const { isHeld, endedBy } = await site.settle({ atLeast: 1, withinMilliseconds: 200 })
  assert.deepEqual({ isHeld, endedBy }, { isHeld: false, endedBy: 'patience' })
  assert.ok(site.realTime() >= 200 && site.realTime() < 300)
})

test('one request does not wait longer than the limit of real time', async () => {
  const site = aSite()
  const { endedBy } = await site.settle({ atMost: 5, withinMilliseconds: 90 * 86_400_000 })
  assert.equal(endedBy, 'patience')
  assert.ok(site.realTime() >= longestWaitMilliseconds && site.realTime() < longestWaitMilliseconds + 100)
})

test('near misses are listed with the terms that they do not satisfy', async () => {
  const site = aSite()
  const filter = readCallFilter("operation eq 'vmm.createVm' and caller/name eq 'x' and status eq 202")
  const { nearest } = await site.settle({ filter })
  assert.deepEqual(nearest, [
    { sequence: 7, operation: 'vmm.createVm', status: 409, unmet: [{ fields: ['status'], found: ['409'] }] },
  ])
  assert.equal(site.asked[0]?.length, 3)
})
