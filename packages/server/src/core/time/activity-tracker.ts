/**
 * Work that belongs to the present moment of a world. Time that is moved by hand waits for it, so that each event sees
 * the time at which it happens, and what one event leads to comes before the next one.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

interface Work {
  /** How many of its parts wait for time to pass, or for other work. */
  idle: number
  /** How many of them are known to take long, and to end. */
  lengthy: number
  /** Real time at which the last of those ended. */
  lengthyUntil: number
  /** It was waited for in vain. */
  isStuck: boolean
}

/** Without anything to give up, it is looked again after this time: the process stays while somebody waits. */
const longestWaitMillis = 1000

export class ActivityTracker {
  readonly #patienceMillis: number
  readonly #current = new AsyncLocalStorage<Work>()
  readonly #running = new Set<Work>()
  /** Those who wait for work to come to rest. */
  readonly #waiting = new Set<() => void>()

  /** @param patienceMillis real time after which work that neither ends nor rests is not waited for: something holds it up */
  constructor(patienceMillis = 2000) {
    this.#patienceMillis = patienceMillis
  }

  /** Runs work that time waits for. */
  track<T>(run: () => Promise<T>): Promise<T> {
    const work: Work = { idle: 0, lengthy: 0, lengthyUntil: 0, isStuck: false }
    this.#running.add(work)
    return this.#current.run(work, async () => {
      try {
        return await run()
      } finally {
        this.#running.delete(work)
        this.#notify()
      }
    })
  }

  /** Meanwhile time does not wait for the work that this is a part of. */
  async idle<T>(wait: () => Promise<T>): Promise<T> {
    const work = this.#current.getStore()
    if (work === undefined) return wait()
    work.idle++
    this.#notify()
    try {
      return await wait()
    } finally {
      work.idle--
      work.isStuck = false
    }
  }

  /** Time waits for the work that this is a part of, however long that takes. It ends by itself. */
  async lengthy<T>(work: () => Promise<T>): Promise<T> {
    const current = this.#current.getStore()
    if (current === undefined) return work()
    current.lengthy++
    try {
      return await work()
    } finally {
      current.lengthy--
      current.lengthyUntil = performance.now()
      this.#notify()
    }
  }

  /** Resolves when all work has ended, rests, or is held up. */
  async settled(): Promise<void> {
    const begin = performance.now()
    // One turn in any case: callers of timers go on in it.
    await new Promise(setImmediate)
    while (this.#active().length > 0) {
      const patience = this.#markStuck(begin)
      if (this.#active().length > 0) await this.#changed(patience)
      // What goes on where work has ended may be work as well.
      await new Promise(setImmediate)
    }
  }

  /** @param begin since when it is waited. @returns how long to wait before there is more to give up, in milliseconds */
  #markStuck(begin: number): number {
    const now = performance.now()
    let next = longestWaitMillis
    for (const work of this.#active()) {
      if (work.lengthy > 0) continue
      const left = Math.max(begin, work.lengthyUntil) + this.#patienceMillis - now
      if (left <= 0) work.isStuck = true
      else next = Math.min(next, left)
    }
    return next
  }

  /** Resolves when some work ends or rests, at the latest after this time. Asking at each turn would keep a processor busy. */
  async #changed(withinMillis: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timeout = setTimeout(resolve, withinMillis)
    this.#waiting.add(resolve)
    await promise
    clearTimeout(timeout)
    this.#waiting.delete(resolve)
  }

  #notify(): void {
    for (const resolve of this.#waiting) resolve()
  }

  #active(): Work[] {
    return [...this.#running].filter(({ idle: resting, isStuck: isHeldUp }) => resting === 0 && !isHeldUp)
  }
}
