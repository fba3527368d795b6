import { formatTime } from './time.ts'

export { canonicalTime, formatTime, parseTime } from './time.ts'

/** What tells the time and waits. Two are handed in: the world's, and the real one (rate windows, time-outs, leases). */
export interface Clock {
  /** Milliseconds since 1970, in whole microseconds. Never runs backwards. */
  now(): number
  /** `now()` as text: UTC, six fractional digits, `Z`. */
  iso(): string
  /** Resolves `ms` later by this clock. Rejects with the signal's reason when that aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Calls `run` once, `ms` later by this clock, and returns what takes that back. */
  setTimer(ms: number, run: () => void): () => void
}

export type ClockMode = 'real' | 'frozen' | number

/** The clock of a world: follows the real one, at a speed, or stands until it is moved. */
export interface WorldClock extends Clock {
  readonly mode: ClockMode
  /** Goes on from the present time of the world at the new speed. */
  setMode(mode: ClockMode): void
  /**
   * Moves the time on by `ms`. The timers on the way run in order, each at its own time, and what they start is given a turn of
   * the event loop before the next. @throws what a timer throws; the time then stands at that timer
   */
  advance(ms: number): Promise<void>
  /** Moves to the earliest timer and runs all that are due then. `false`: nothing waits. */
  runToNextEvent(): Promise<boolean>
  /** Drops all timers, so that none runs on, or keeps the process alive, after the world has gone. */
  close(): void
}

/** Longer delays overflow in setTimeout, and would run at once. */
const longestTimeout = 2 ** 31 - 1

export const realClock: Clock = createRealClock()

/**
 * The machine's clock, made monotonic: it moves with the processor's counter and follows the machine's time when that has gone
 * ahead (sleep, correction). Set back, the machine's time is not followed before the next start.
 */
export function createRealClock(wall = () => Date.now(), monotonic = () => performance.now()): Clock {
  const followBeyondMillis = 50
  let anchor = wall() - monotonic()
  const now = () => {
    const wallNow = wall()
    const elapsed = monotonic()
    if (wallNow - (anchor + elapsed) > followBeyondMillis) anchor = wallNow - elapsed
    return inMicros(anchor + elapsed)
  }
  return clockOf(now, (ms, run) => {
    const due = now() + ms
    let timeout: NodeJS.Timeout
    const wait = () => {
      const left = due - now()
      if (left <= 0) run()
      else timeout = setTimeout(wait, Math.min(left, longestTimeout))
    }
    timeout = setTimeout(wait, Math.min(Math.max(ms, 0), longestTimeout))
    return () => clearTimeout(timeout)
  })
}

interface Timer {
  readonly at: number
  readonly run: () => void
}

/** @param startAt the world's time at its start, in milliseconds since 1970; else the real time */
export function createWorldClock(real: Clock, initialMode: ClockMode, startAt = real.now()): WorldClock {
  let mode = initialMode
  let realAnchor = real.now()
  let worldAnchor = inMicros(startAt)
  /** Ascending; of two at the same time, the older stands first. */
  let timers: Timer[] = []
  let disarm = () => {}
  let moving = Promise.resolve()

  const now = () => inMicros(worldAnchor + (real.now() - realAnchor) * speedOf(mode))

  const moveTo = (time: number) => {
    worldAnchor = Math.max(time, now())
    realAnchor = real.now()
  }

  /** One real timer, for the earliest of the world. */
  const arm = () => {
    disarm()
    disarm = () => {}
    const [first] = timers
    if (first === undefined || speedOf(mode) === 0) return
    // Rounded up: a timer that woke a fraction too early would find nothing due.
    const realMillis = Math.ceil((Math.max(0, first.at - now()) / speedOf(mode)) * 1000) / 1000
    disarm = real.setTimer(realMillis, runDue)
  }

  const runDue = () => {
    try {
      while (timers[0] !== undefined && timers[0].at <= now()) timers.shift()!.run()
    } finally {
      arm()
    }
  }

  const advanceTo = async (time: number) => {
    try {
      for (let next = timers[0]; next !== undefined && next.at <= time; next = timers[0]) {
        moveTo(next.at)
        timers.shift()
        next.run()
        await new Promise(setImmediate)
      }
      moveTo(time)
    } finally {
      arm()
    }
  }

  /** One after the other: two that move the time at once would run the timers out of order. */
  const move = <Result>(how: () => Promise<Result>): Promise<Result> => {
    const moved = moving.then(how)
    moving = moved.then(
      () => {},
      () => {},
    )
    return moved
  }

  const clock = clockOf(now, (ms, run) => {
    const timer = { at: inMicros(now() + Math.max(0, ms)), run }
    const later = timers.findIndex(({ at }) => at > timer.at)
    timers.splice(later === -1 ? timers.length : later, 0, timer)
    arm()
    return () => {
      timers = timers.filter((other) => other !== timer)
      arm()
    }
  })

  return {
    ...clock,
    get mode() {
      return mode
    },
    setMode(newMode) {
      moveTo(now())
      mode = newMode
      arm()
    },
    advance: (ms) => {
      if (!(ms >= 0 && Number.isFinite(ms))) throw new RangeError(`A clock moves on by 0 ms or more, not by ${ms}`)
      return move(() => advanceTo(inMicros(now() + ms)))
    },
    runToNextEvent: () =>
      move(async () => {
        const [first] = timers
        if (first !== undefined) await advanceTo(first.at)
        return first !== undefined
      }),
    close() {
      timers = []
      arm()
    },
  }
}

function clockOf(now: Clock['now'], setTimer: Clock['setTimer']): Clock {
  return {
    now,
    iso: () => formatTime(now()),
    setTimer,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason)
          return
        }
        const abort = () => {
          cancel()
          reject(signal?.reason)
        }
        const cancel = setTimer(ms, () => {
          signal?.removeEventListener('abort', abort)
          resolve()
        })
        signal?.addEventListener('abort', abort, { once: true })
      }),
  }
}

function speedOf(mode: ClockMode): number {
  return mode === 'real' ? 1 : mode === 'frozen' ? 0 : mode
}

function inMicros(ms: number): number {
  return Math.round(ms * 1000) / 1000
}
