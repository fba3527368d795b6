import { ActivityTracker } from './activity-tracker.ts'
import { formatTime, lastTime } from './time.ts'

export { canonicalTime, formatTime, lastTime, parseTime } from './time.ts'

/** What tells the time and waits. Two are handed in: the world's, and the real one (rate windows, time-outs, leases). */
export interface Clock {
  /** Milliseconds since 1970, in whole microseconds. Never runs backwards. */
  now(): number
  /** `now()` as text: UTC, six fractional digits, `Z`. */
  iso(): string
  /** Resolves `ms` later by this clock. Rejects with the signal's reason when that aborts. */
  sleep(ms: number, signal?: AbortSignal, about?: string): Promise<void>
  /** Calls `run` once, `ms` later by this clock, and returns what takes that back. */
  setTimer(ms: number, run: () => void): () => void
}

/** A clock that knows what happens at the present moment. */
export interface TrackingClock extends Clock {
  /** Runs work that belongs to the present moment: where time is moved by hand, it waits until the work ends or rests. */
  track<T>(work: () => Promise<T>): Promise<T>
  /** Attended work that only waits, for other work or for something that takes no time of this clock. `sleep` rests too. */
  idle<T>(wait: () => Promise<T>): Promise<T>
  /** Attended work that may take long without anything being wrong, and that ends by itself: it is waited for all the same. */
  lengthy<T>(work: () => Promise<T>): Promise<T>
}

export type ClockMode = 'real' | 'frozen' | number

/** What a clock goes by: at this real time it was that time in the world. */
export interface ClockState {
  readonly mode: ClockMode
  readonly world: number
  readonly real: number
}

/** What happened at one moment, or will. */
export interface ClockEvent {
  readonly at: number
  /** `task vmm.create-vm`, `schedule platform.backups`; empty where nobody said. */
  readonly about: string
}

/** A way through time. */
export interface Passage {
  readonly from: number
  /** Moments at which something happened. */
  readonly moments: number
  /** What happened at the last of them. */
  readonly last?: ClockEvent
}

/** The clock of a world: follows the real one, at a speed, or stands until it is moved. */
export interface WorldClock extends TrackingClock {
  readonly mode: ClockMode
  /** To go on from after a restart, see `timeOf`. */
  state(): ClockState
  /** How many timers wait, and for what the earliest that is an event. */
  waiting(): { readonly count: number; readonly next?: ClockEvent }
  /** Goes on from the present time of the world at the new speed. */
  setMode(mode: ClockMode): void
  /**
   * Moves the time on by `ms`, when the work that is attended has come to rest. The timers on the way run in order, each at
   * its own time, and what they start comes to rest before the next. Work that hangs is not waited for longer than 2 s, unless it `last`s.
   * @throws what a timer throws; the time then stands at that timer
   */
  advance(ms: number): Promise<Passage>
  /** Moves to the earliest timer that is an event and runs all that are due till then. Nothing: none waits. */
  runToNextEvent(): Promise<Passage | undefined>
  /**
   * @param sort `derived`: what runs then is no event that others must see between them, see `quietUntil`
   * @param about what happens then, for people
   */
  setTimer(ms: number, run: () => void, sort?: 'derived', about?: string): () => void
  /**
   * Up to this time nothing happens but what is derived: the time that is moved to by hand, or the next timer before it. The
   * present time where it passes by itself: anything may happen then.
   */
  quietUntil(): number
  /** Resolves when the work that is attended has come to rest, or is held up. */
  settled(): Promise<void>
  /** Drops all timers, so that none runs on, or keeps the process alive, after the world has gone. */
  close(): void
}

/** Longer delays overflow in setTimeout, and would run at once. */
const longestTimeout = 2 ** 31 - 1

export const realClock: TrackingClock = createRealClock()

/**
 * The machine's clock, made monotonic: it moves with the processor's counter and follows the machine's time when that has gone
 * ahead (sleep, correction). Set back, the machine's time is not followed before the next start.
 */
export function createRealClock(wall = () => Date.now(), monotonic = () => performance.now()): TrackingClock {
  const followBeyondMillis = 50
  // Each request reads the clock several times, and each of the two readings costs as much as the rest of it.
  const followEveryMillis = 1
  let anchor = wall() - monotonic()
  let followedAt = -Infinity
  const now = () => {
    const elapsed = monotonic()
    if (elapsed - followedAt >= followEveryMillis) {
      followedAt = elapsed
      const wallNow = wall()
      if (wallNow - (anchor + elapsed) > followBeyondMillis) anchor = wallNow - elapsed
    }
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

interface Timer extends ClockEvent {
  readonly isDerived: boolean
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
  /** The time that is moved to. */
  let target: number | undefined
  const attendance = new ActivityTracker()

  // Times end with the year 9999; there it stands, however it goes.
  const now = () => Math.min(lastTime, inMicros(worldAnchor + (real.now() - realAnchor) * speedOf(mode)))

  const moveTo = (time: number) => {
    worldAnchor = Math.max(time, now())
    realAnchor = real.now()
  }

  /** One real timer, for the earliest of the world. */
  const arm = () => {
    disarm()
    disarm = () => {}
    const [first] = timers
    if (first === undefined || first.at > lastTime || speedOf(mode) === 0) return
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

  const advanceTo = async (time: number): Promise<Passage> => {
    const from = now()
    let moments = 0
    let last: ClockEvent | undefined
    target = time
    try {
      await attendance.settled()
      for (let next = timers[0]; next !== undefined && next.at <= time; next = timers[0]) {
        if (next.at !== last?.at) moments++
        last = { at: next.at, about: next.about }
        moveTo(next.at)
        timers.shift()
        next.run()
        await attendance.settled()
      }
      moveTo(time)
    } finally {
      target = undefined
      arm()
    }
    return { from, moments, ...(last === undefined ? {} : { last }) }
  }

  /** What others see; where there is none, whatever comes first. */
  const nextEvent = (): Timer | undefined => timers.find(({ isDerived }) => !isDerived) ?? timers[0]

  /** One after the other: two that move the time at once would run the timers out of order. */
  const move = <Result>(how: () => Promise<Result>): Promise<Result> => {
    const moved = moving.then(how)
    moving = moved.then(
      () => {},
      () => {},
    )
    return moved
  }

  const setTimer = (ms: number, run: () => void, sort?: 'derived', about = ''): (() => void) => {
    const timer = { at: inMicros(now() + Math.max(0, ms)), run, isDerived: sort === 'derived', about }
    const later = timers.findIndex(({ at }) => at > timer.at)
    timers.splice(later === -1 ? timers.length : later, 0, timer)
    arm()
    return () => {
      timers = timers.filter((other) => other !== timer)
      arm()
    }
  }
  const clock = clockOf(now, setTimer)

  return {
    ...clock,
    setTimer,
    quietUntil: () => {
      if (target === undefined) return now()
      return Math.min(target, timers.find(({ isDerived }) => !isDerived)?.at ?? target)
    },
    sleep: (ms, signal, about) => attendance.idle(() => clock.sleep(ms, signal, about)),
    track: (work) => attendance.track(work),
    idle: (wait) => attendance.idle(wait),
    lengthy: (work) => attendance.lengthy(work),
    get mode() {
      return mode
    },
    state: () => ({ mode, world: worldAnchor, real: realAnchor }),
    waiting() {
      const next = nextEvent()
      return { count: timers.length, ...(next === undefined ? {} : { next: { at: next.at, about: next.about } }) }
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
        // What was just started may have to wait for something sooner.
        await attendance.settled()
        const next = nextEvent()
        return next === undefined ? undefined : await advanceTo(next.at)
      }),
    settled: () => attendance.settled(),
    close() {
      timers = []
      arm()
    },
  }
}

/** What time it is now by a clock that was in this state. Never behind where it was. */
export function timeOf({ mode, world, real }: ClockState, now: number): number {
  return inMicros(world + Math.max(0, now - real) * speedOf(mode))
}

function clockOf(
  now: Clock['now'],
  setTimer: (...timer: Parameters<WorldClock['setTimer']>) => () => void,
): TrackingClock {
  return {
    now,
    iso: () => formatTime(now()),
    setTimer,
    track: (work) => work(),
    idle: (wait) => wait(),
    lengthy: (work) => work(),
    sleep: (ms, signal, about) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason)
          return
        }
        const abort = () => {
          cancel()
          reject(signal?.reason)
        }
        const cancel = setTimer(
          ms,
          () => {
            signal?.removeEventListener('abort', abort)
            resolve()
          },
          undefined,
          about,
        )
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
