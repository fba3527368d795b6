import { ActivityTracker } from './activity-tracker.ts'
import { formatTime, lastTime } from './time.ts'

export { canonicalTime, formatTime, lastTime, parseTime } from './time.ts'

export interface Clock {
  /** Milliseconds since 1970, in whole microseconds. Never runs backwards. */
  now(): number
  iso(): string
  /** Rejects with the signal's reason when that aborts. */
  sleep(ms: number, signal?: AbortSignal, about?: string): Promise<void>
  setTimer(ms: number, run: () => void): () => void
}

export interface TrackingClock extends Clock {
  /** A manually moved clock waits until the work ends or idles. */
  track<T>(work: () => Promise<T>): Promise<T>
  /** Marks tracked work that only waits; `sleep` does so too. */
  idle<T>(wait: () => Promise<T>): Promise<T>
  /** Marks work that may take long without being stuck, and that ends by itself. */
  lengthy<T>(work: () => Promise<T>): Promise<T>
}

export type ClockMode = 'real' | 'frozen' | number

export interface ClockState {
  readonly mode: ClockMode
  readonly world: number
  readonly real: number
}

export interface ClockEvent {
  readonly at: number
  readonly about: string
}

export interface Passage {
  readonly from: number
  readonly moments: number
  readonly last?: ClockEvent
}

export interface WorldClock extends TrackingClock {
  readonly mode: ClockMode
  state(): ClockState
  waiting(): { readonly count: number; readonly next?: ClockEvent }
  setMode(mode: ClockMode): void
  /**
   * Runs timers in order, each at its time, after the work of earlier ones is idle; waits 2 s for stuck work, unless `lengthy`.
   * @throws the error of a timer; the clock stays at that timer
   */
  advance(ms: number): Promise<Passage>
  runToNextEvent(): Promise<Passage | undefined>
  /** @param sort `derived`: no event for others, see `quietUntil` */
  setTimer(ms: number, run: () => void, sort?: 'derived', about?: string): () => void
  /** Only derived timers run before this time: the target of a move, or an earlier event; the present if the clock runs itself. */
  quietUntil(): number
  settled(): Promise<void>
  /** No timer may keep the process alive after the world is gone. */
  close(): void
}

/** Longer delays overflow in setTimeout, and would run at once. */
const longestTimeout = 2 ** 31 - 1

export const realClock: TrackingClock = createRealClock()

/** Monotonic: follows the machine's time forward (sleep, correction); ignores it if set back, until a restart. */
export function createRealClock(wall = () => Date.now(), monotonic = () => performance.now()): TrackingClock {
  const followBeyondMillis = 50
  // `Date.now()` doubles the cost of a reading, and a request takes several: read it at most once a millisecond.
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

export function createWorldClock(real: Clock, initialMode: ClockMode, startAt = real.now()): WorldClock {
  const tracker = new ActivityTracker()
  const timeline = new Timeline(real, initialMode, startAt, tracker)
  const setTimer: WorldClock['setTimer'] = (ms, run, sort, about) => timeline.setTimer(ms, run, sort, about)
  const clock = clockOf(() => timeline.now(), setTimer)
  return {
    ...clock,
    setTimer,
    quietUntil: () => timeline.quietUntil(),
    sleep: (ms, signal, about) => tracker.idle(() => clock.sleep(ms, signal, about)),
    track: (work) => tracker.track(work),
    idle: (wait) => tracker.idle(wait),
    lengthy: (work) => tracker.lengthy(work),
    get mode() {
      return timeline.mode
    },
    state: () => timeline.state(),
    waiting: () => timeline.waiting(),
    setMode: (mode) => timeline.setMode(mode),
    advance: (ms) => timeline.advance(ms),
    runToNextEvent: () => timeline.runToNextEvent(),
    settled: () => tracker.settled(),
    close: () => timeline.close(),
  }
}

class Timeline {
  readonly #real: Clock
  readonly #tracker: ActivityTracker
  #mode: ClockMode
  #realAnchor: number
  #worldAnchor: number
  #timers: Timer[] = []
  #disarm = (): void => undefined
  #moves: Promise<unknown> = Promise.resolve()
  #target: number | undefined

  constructor(real: Clock, mode: ClockMode, startAt: number, tracker: ActivityTracker) {
    this.#real = real
    this.#tracker = tracker
    this.#mode = mode
    this.#realAnchor = real.now()
    this.#worldAnchor = inMicros(startAt)
  }

  get mode(): ClockMode {
    return this.#mode
  }

  /** The year 9999 is the last one that texts of times can hold. */
  now(): number {
    const passed = (this.#real.now() - this.#realAnchor) * speedOf(this.#mode)
    return Math.min(lastTime, inMicros(this.#worldAnchor + passed))
  }

  state(): ClockState {
    return { mode: this.#mode, world: this.#worldAnchor, real: this.#realAnchor }
  }

  waiting(): { readonly count: number; readonly next?: ClockEvent } {
    const next = this.#nextEvent()
    return { count: this.#timers.length, ...(next === undefined ? {} : { next: { at: next.at, about: next.about } }) }
  }

  quietUntil(): number {
    const target = this.#target
    if (target === undefined) return this.now()
    return Math.min(target, this.#timers.find(({ isDerived }) => !isDerived)?.at ?? target)
  }

  setMode(mode: ClockMode): void {
    this.#moveTo(this.now())
    this.#mode = mode
    this.#arm()
  }

  setTimer(ms: number, run: () => void, sort?: 'derived', about = ''): () => void {
    const timer = { at: inMicros(this.now() + Math.max(0, ms)), run, isDerived: sort === 'derived', about }
    const later = this.#timers.findIndex(({ at }) => at > timer.at)
    this.#timers.splice(later === -1 ? this.#timers.length : later, 0, timer)
    this.#arm()
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
      this.#arm()
    }
  }

  advance(ms: number): Promise<Passage> {
    if (!(ms >= 0 && Number.isFinite(ms))) throw new RangeError(`A clock advances by 0 ms or more, not by ${ms}`)
    return this.#move(() => this.#advanceTo(inMicros(this.now() + ms)))
  }

  runToNextEvent(): Promise<Passage | undefined> {
    return this.#move(async () => {
      // Work that has just started may set an earlier timer.
      await this.#tracker.settled()
      const next = this.#nextEvent()
      return next === undefined ? undefined : await this.#advanceTo(next.at)
    })
  }

  close(): void {
    this.#timers = []
    this.#arm()
  }

  #nextEvent(): Timer | undefined {
    return this.#timers.find(({ isDerived }) => !isDerived) ?? this.#timers[0]
  }

  #moveTo(time: number): void {
    this.#worldAnchor = Math.max(time, this.now())
    this.#realAnchor = this.#real.now()
  }

  #arm(): void {
    this.#disarm()
    this.#disarm = () => undefined
    const [first] = this.#timers
    const speed = speedOf(this.#mode)
    if (first === undefined || first.at > lastTime || speed === 0) return
    // Rounded up: a timer that fires a fraction too early would find nothing due.
    const realMillis = Math.ceil((Math.max(0, first.at - this.now()) / speed) * 1000) / 1000
    this.#disarm = this.#real.setTimer(realMillis, () => this.#runDue())
  }

  #runDue(): void {
    try {
      for (let [next] = this.#timers; next !== undefined && next.at <= this.now(); [next] = this.#timers) {
        this.#timers.shift()
        next.run()
      }
    } finally {
      this.#arm()
    }
  }

  /** Moves run one after the other: two at once would run the timers out of order. */
  #move<Result>(how: () => Promise<Result>): Promise<Result> {
    const moved = this.#moves.then(how)
    this.#moves = moved.catch(() => undefined)
    return moved
  }

  async #advanceTo(time: number): Promise<Passage> {
    const from = this.now()
    let moments = 0
    let last: ClockEvent | undefined
    this.#target = time
    try {
      await this.#tracker.settled()
      for (let [next] = this.#timers; next !== undefined && next.at <= time; [next] = this.#timers) {
        if (next.at !== last?.at) moments++
        last = { at: next.at, about: next.about }
        this.#moveTo(next.at)
        this.#timers.shift()
        next.run()
        await this.#tracker.settled()
      }
      this.#moveTo(time)
    } finally {
      this.#target = undefined
      this.#arm()
    }
    return { from, moments, ...(last === undefined ? {} : { last }) }
  }
}

export function worldTimeOf({ mode, world, real }: ClockState, now: number): number {
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
