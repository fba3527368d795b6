/** A manually moved clock waits for this work, so that consequences of an event precede the next event. */
import { AsyncLocalStorage } from 'node:async_hooks'

interface Work {
  /** Parts that wait for time to pass, or for other work. */
  idle: number
  /** Parts that may take long and end by themselves. */
  lengthy: number
  lengthyUntil: number
  isStuck: boolean
}

/** Also keeps the process alive while a caller waits. */
const longestWaitMillis = 1000

export class ActivityTracker {
  readonly #patienceMillis: number
  readonly #current = new AsyncLocalStorage<Work>()
  readonly #running = new Set<Work>()
  readonly #waiting = new Set<() => void>()

  /** @param patienceMillis real time after which work that neither ends nor idles counts as stuck */
  constructor(patienceMillis = 2000) {
    this.#patienceMillis = patienceMillis
  }

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

  /** Does not wait for stuck work. */
  async settled(): Promise<void> {
    const begin = performance.now()
    // At least one turn of the event loop: callers of timers continue in it.
    await new Promise(setImmediate)
    while (this.#active().length > 0) {
      const patience = this.#markStuck(begin)
      if (this.#active().length > 0) await this.#changed(patience)
      // The continuation of ended work may be tracked work too.
      await new Promise(setImmediate)
    }
  }

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

  /** Polling would keep a core busy. */
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
