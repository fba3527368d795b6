import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createRealClock, createWorldClock, type WorldClock, worldTimeOf } from './clock.ts'

const start = Date.UTC(2026, 10, 24, 9, 30)

/** Real time that a test moves: a frozen clock above a machine that stands still. */
const movableTime = () =>
  createWorldClock(
    createRealClock(
      () => start,
      () => 0,
    ),
    'frozen',
  )

function recorder(clock: WorldClock) {
  const at: string[] = []
  return { at, note: (what: string) => () => void at.push(`${what} ${(clock.now() - start) / 1000}`) }
}

describe('real clock', () => {
  test('counts microseconds of the monotonic counter', () => {
    let elapsed = 0
    const clock = createRealClock(
      () => start,
      () => elapsed,
    )
    elapsed = 1.2345
    assert.equal(clock.now(), start + 1.235)
    assert.equal(clock.iso(), '2026-11-24T09:30:00.001235Z')
  })

  test('follows the machine ahead, as after sleep, and never back', () => {
    let wall = start
    let elapsed = 0
    const clock = createRealClock(
      () => wall,
      () => elapsed,
    )
    wall = start + 3_600_000
    assert.equal(clock.now(), start + 3_600_000)
    wall = start
    elapsed = 5
    assert.equal(clock.now(), start + 3_600_005)
    wall = start + 2 * 3_600_000
    elapsed = 6
    assert.equal(clock.now(), start + 2 * 3_600_000)
  })

  test('never fires a timer early', async () => {
    const clock = createRealClock()
    const before = clock.now()
    await clock.sleep(2)
    assert.ok(clock.now() >= before + 2)
  })
})

describe('frozen clock', () => {
  test('stands while real time passes', async () => {
    const real = movableTime()
    const clock = createWorldClock(real, 'frozen', start - 5000)
    await real.advance(60_000)
    assert.equal(clock.now(), start - 5000)
  })

  test('advance runs the timers up to its target in order, each at its own time', async () => {
    const clock = createWorldClock(movableTime(), 'frozen')
    const { at, note } = recorder(clock)
    clock.setTimer(3000, note('c'))
    clock.setTimer(1000, note('a'))
    clock.setTimer(1000, note('b'))
    clock.setTimer(9000, note('never'))
    await clock.advance(5000)
    assert.deepEqual(at, ['a 1', 'b 1', 'c 3'])
    assert.equal(clock.now(), start + 5000)
  })

  test('advance runs the timers that timers set, when they come in time', async () => {
    const clock = createWorldClock(movableTime(), 'frozen')
    const { at, note } = recorder(clock)
    const everySecond = async () => {
      for (;;) {
        await clock.sleep(1000)
        note('tick')()
      }
    }
    void everySecond()
    await clock.advance(3500)
    assert.deepEqual(at, ['tick 1', 'tick 2', 'tick 3'])
  })

  test('concurrent advances run one after the other', async () => {
    const clock = createWorldClock(movableTime(), 'frozen')
    const { at, note } = recorder(clock)
    for (const seconds of [1, 2, 3]) clock.setTimer(seconds * 1000, note('timer'))
    await Promise.all([clock.advance(2000), clock.advance(2000)])
    assert.deepEqual(at, ['timer 1', 'timer 2', 'timer 3'])
    assert.equal(clock.now(), start + 4000)
  })

  test('runToNextEvent moves to the earliest timer and returns it; undefined without timers', async () => {
    const clock = createWorldClock(movableTime(), 'frozen')
    const { at, note } = recorder(clock)
    clock.setTimer(86_400_000, note('tomorrow'))
    clock.setTimer(86_400_000, note('too'), undefined, 'the second')
    clock.setTimer(86_401_000, note('later'))
    const from = clock.now()
    const passage = await clock.runToNextEvent()
    assert.deepEqual(passage, { from, moments: 1, last: { at: from + 86_400_000, about: 'the second' } })
    assert.deepEqual(at, ['tomorrow 86400', 'too 86400'])
    assert.equal((await clock.runToNextEvent())?.moments, 1)
    assert.equal(await clock.runToNextEvent(), undefined)
  })

  test('derived timers run on the way to the next event, and count as one if there is no other', async () => {
    const clock = createWorldClock(movableTime(), 'frozen')
    const { at, note } = recorder(clock)
    clock.setTimer(1000, note('derived'), 'derived')
    clock.setTimer(2000, note('event'))
    assert.equal((await clock.runToNextEvent())?.moments, 2)
    assert.deepEqual(at, ['derived 1', 'event 2'])
    clock.setTimer(1000, note('alone'), 'derived')
    assert.equal((await clock.runToNextEvent())?.moments, 1)
  })
})

describe('frozen clock: state and timers', () => {
  test('a clock continues from a stored state', () => {
    assert.equal(worldTimeOf({ mode: 'frozen', world: 5000, real: 1000 }, 9000), 5000)
    assert.equal(worldTimeOf({ mode: 'real', world: 5000, real: 1000 }, 9000), 13_000)
    assert.equal(worldTimeOf({ mode: 60, world: 5000, real: 1000 }, 2000), 65_000)
    // A machine time that was set back does not set the world back.
    assert.equal(worldTimeOf({ mode: 'real', world: 5000, real: 1000 }, 0), 5000)
  })

  test('a cancelled timer does not run', async () => {
    const clock = createWorldClock(movableTime(), 'frozen')
    const { at, note } = recorder(clock)
    const takeBack = clock.setTimer(2000, note('b'))
    clock.setTimer(1000, () => {
      note('a')()
      takeBack()
    })
    await clock.advance(5000)
    assert.deepEqual(at, ['a 1'])
  })

  test('a timer that throws stops the advance at its time, and the next goes on', async () => {
    const clock = createWorldClock(movableTime(), 'frozen')
    const { at, note } = recorder(clock)
    clock.setTimer(1000, () => {
      throw new Error('broken')
    })
    clock.setTimer(2000, note('b'))
    await assert.rejects(clock.advance(5000), /broken/)
    assert.equal(clock.now(), start + 1000)
    await clock.advance(5000)
    assert.deepEqual(at, ['b 2'])
  })

  test('refuses to go back', () => {
    const clock = createWorldClock(movableTime(), 'frozen')
    assert.throws(() => clock.advance(-1), /not by -1/)
    assert.throws(() => clock.advance(Number.NaN), /not by NaN/)
  })

  test('close drops all timers', async () => {
    const clock = createWorldClock(movableTime(), 'frozen')
    const { at, note } = recorder(clock)
    clock.setTimer(1000, note('a'))
    clock.close()
    await clock.advance(5000)
    assert.deepEqual(at, [])
  })
})

describe('running clock', () => {
  test('moves at its speed, and its timers with it', async () => {
    const real = movableTime()
    const clock = createWorldClock(real, 60)
    const { at, note } = recorder(clock)
    clock.setTimer(60_000, note('minute'))
    await real.advance(999)
    assert.deepEqual(at, [])
    await real.advance(2)
    assert.deepEqual(at, ['minute 60'])
    assert.equal(clock.now(), start + 60_060)
  })

  test('runs a timer whose time is no whole number of real microseconds', async () => {
    const real = movableTime()
    const clock = createWorldClock(real, 7)
    const { at, note } = recorder(clock)
    clock.setTimer(1, note('odd'))
    await real.advance(1)
    assert.equal(at.length, 1)
  })

  test('an earlier timer set later runs first', async () => {
    const real = movableTime()
    const clock = createWorldClock(real, 'real')
    const { at, note } = recorder(clock)
    clock.setTimer(2000, note('b'))
    clock.setTimer(1000, note('a'))
    await real.advance(3000)
    assert.deepEqual(at, ['a 1', 'b 2'])
  })

  test('freezing keeps the time, and continuing skips none', async () => {
    const real = movableTime()
    const clock = createWorldClock(real, 'real')
    const { at, note } = recorder(clock)
    clock.setTimer(3000, note('c'))
    await real.advance(1000)
    clock.setMode('frozen')
    await real.advance(60_000)
    assert.equal(clock.now(), start + 1000)
    clock.setMode(2)
    await real.advance(1000)
    assert.equal(clock.now(), start + 3000)
    assert.deepEqual(at, ['c 3'])
    assert.equal(clock.mode, 2)
  })

  test('advance moves it ahead of real time', async () => {
    const real = movableTime()
    const clock = createWorldClock(real, 'real')
    const { at, note } = recorder(clock)
    clock.setTimer(5000, note('a'))
    await clock.advance(10_000)
    await real.advance(1000)
    assert.deepEqual(at, ['a 5'])
    assert.equal(clock.now(), start + 11_000)
  })
})

describe('the end of time', () => {
  test('a clock stops at the end of the year 9999, and later timers never run', async () => {
    const real = movableTime()
    const end = Date.UTC(10_000, 0, 1)
    const clock = createWorldClock(real, 'real', end - 1000)
    const at: number[] = []
    clock.setTimer(500, () => at.push(clock.now()))
    clock.setTimer(60_000, () => at.push(clock.now()))
    await real.advance(3_600_000)
    assert.deepEqual(at, [end - 500])
    assert.equal(clock.iso(), '9999-12-31T23:59:59.999969Z')
  })
})

describe('sleep', () => {
  test('rejects with the reason of its signal and forgets the timer', async () => {
    const clock = createWorldClock(movableTime(), 'frozen')
    const controller = new AbortController()
    const slept = clock.sleep(1000, controller.signal)
    controller.abort(new Error('cancelled'))
    await assert.rejects(slept, /cancelled/)
    assert.equal(await clock.runToNextEvent(), undefined)
    await assert.rejects(clock.sleep(1000, controller.signal), /cancelled/)
  })

  test('resolves when its time has come', async () => {
    const clock = createWorldClock(movableTime(), 'frozen')
    const slept = clock.sleep(1000, new AbortController().signal)
    await clock.advance(1000)
    await slept
  })
})
