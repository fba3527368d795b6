import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createIds } from '../ids/ids.ts'
import { createWorldClock, realClock } from './clock.ts'
import { type Schedule, type ScheduleContext, startSchedules } from './schedules.ts'

const context = { ids: createIds('schedules') } as ScheduleContext<object>

const start = Date.parse('2026-03-02T09:00:00Z')

function running(...schedules: Schedule<object>[]) {
  const clock = createWorldClock(realClock, 'frozen', start)
  const at: string[] = []
  const faults: unknown[] = []
  const noted = schedules.map((schedule) => ({
    ...schedule,
    run: async (ctx: ScheduleContext<object>) => {
      at.push(`${schedule.name} ${(clock.now() - start) / 1000}`)
      return schedule.run(ctx)
    },
  }))
  const stop = startSchedules(noted, context, clock, { error: (fault) => faults.push(fault) })
  return { clock, at, faults, stop }
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate)
}

function watching(name: string, everySeconds: number, run: Schedule<object>['run'] = async () => undefined) {
  const listeners = new Set<() => void>()
  const schedule: Schedule<object> = {
    name,
    everySeconds,
    run,
    watch: (_ctx, changed) => {
      listeners.add(changed)
      return () => void listeners.delete(changed)
    },
  }
  return { schedule, listeners, change: () => void [...listeners].map((changed) => changed()) }
}

test('runs come every period, in the order of their times', async () => {
  const { clock, at } = running(
    { name: 'a', everySeconds: 30, run: async () => undefined },
    { name: 'b', everySeconds: 40, run: async () => undefined },
  )
  await clock.advance(120_000)
  assert.deepEqual(at, ['a 30', 'b 40', 'a 60', 'b 80', 'a 90', 'b 120', 'a 120'])
})

test('a run of many turns of the event loop ends at its start time, before the next event', async () => {
  const ends: number[] = []
  const { clock } = running({
    name: 'slow',
    everySeconds: 30,
    run: async () => {
      await turns(30)
      ends.push((clock.now() - start) / 1000)
    },
  })
  await clock.advance(95_000)
  assert.deepEqual(ends, [30, 60, 90])
})

test('a schedule that watches runs once; after a change, it runs at the next due time', async () => {
  const { schedule, change } = watching('poll', 30)
  const { clock, at } = running(schedule)
  await clock.advance(3600_000)
  assert.deepEqual(at, ['poll 30'])
  await clock.advance(7_000)
  change()
  change()
  await clock.advance(3600_000)
  assert.deepEqual(at, ['poll 30', 'poll 3630'])
})

test('a change during a run causes another run', async () => {
  const { schedule, change } = watching('poll', 30, async () => {
    await turns(3)
    if (clock.now() < start + 60_000) change()
  })
  const { clock, at } = running(schedule)
  await clock.advance(3600_000)
  assert.deepEqual(at, ['poll 30', 'poll 60'])
})

test('a run that returns `again` is repeated although nothing changes', async () => {
  const { schedule } = watching('wait', 10, async () => (clock.now() < start + 30_000 ? 'again' : undefined))
  const { clock, at } = running(schedule)
  await clock.advance(3600_000)
  assert.deepEqual(at, ['wait 10', 'wait 20', 'wait 30'])
})

test('a run that returns a time skips the runs before it, unless something changes', async () => {
  const { schedule, change } = watching('expiry', 10, async () => start + 95_000)
  const { clock, at } = running(schedule)
  await clock.advance(99_000)
  assert.deepEqual(at, ['expiry 10'])
  await clock.advance(1_000)
  assert.deepEqual(at, ['expiry 10', 'expiry 100'], 'the first of its times that is not before the named one')
  change()
  await clock.advance(10_000)
  assert.deepEqual(at.slice(2), ['expiry 110'])
})

test('a failed run is logged, and the next one takes place', async () => {
  let fails = 2
  const { schedule } = watching('poll', 30, async () => {
    if (fails-- > 0) throw new Error('no answer')
  })
  const { clock, at, faults } = running(schedule)
  await clock.advance(3600_000)
  assert.deepEqual(at, ['poll 30', 'poll 60', 'poll 90'])
  assert.equal(faults.length, 2)
})

test('90 days without a change cost one run', async () => {
  const { schedule } = watching('poll', 30)
  const { clock, at } = running(schedule)
  await clock.advance(90 * 24 * 3600_000)
  assert.equal(at.length, 1)
})

test('of runs that depend only on the present, the last one before each event takes place, and the last of all', async () => {
  const { clock, at } = running(
    { name: 'judge', everySeconds: 60, onlyLastCounts: true, run: async () => undefined },
    { name: 'purge', everySeconds: 3600, onlyLastCounts: true, run: async () => undefined },
  )
  clock.setTimer(10_030_000, () => at.push('event 10030'))
  await clock.advance(20_000_000)
  assert.deepEqual(at, ['purge 7200', 'judge 10020', 'event 10030', 'purge 18000', 'judge 19980'])
  await clock.advance(60_000)
  assert.deepEqual(at.slice(5), ['judge 20040'])
})

test('on a running clock, every run takes place', async () => {
  const real = createWorldClock(realClock, 'frozen', start)
  const clock = createWorldClock(real, 'real', start)
  const at: number[] = []
  const run = async (): Promise<void> => void at.push((clock.now() - start) / 1000)
  const schedule: Schedule<object> = { name: 'judge', everySeconds: 60, onlyLastCounts: true, run }
  startSchedules([schedule], context, clock, { error: () => undefined })
  await real.advance(190_000)
  assert.deepEqual(at, [60, 120, 180])
})

test('after the stop nothing runs and no watch remains', async () => {
  const { schedule, listeners } = watching('poll', 30)
  const { clock, at, stop } = running(schedule, { name: 'plain', everySeconds: 30, run: async () => undefined })
  stop()
  await clock.advance(3600_000)
  assert.deepEqual([at, listeners.size], [[], 0])
})
