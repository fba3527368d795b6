/**
 * Work that belongs to the present moment of a world. Time that is moved by hand waits for it, so that each event sees
 * the time at which it happens, and what one event leads to comes before the next one.
 */
import { AsyncLocalStorage } from 'node:async_hooks'

interface Work {
  /** How many of its parts wait for time to pass, or for other work. */
  resting: number
  /** How many of them are known to take long, and to end. */
  lasting: number
  /** Real time at which the last of those ended. */
  lastedUntil: number
  /** It was waited for in vain. */
  isHeldUp: boolean
}

export class Attendance {
  readonly #patienceMillis: number
  readonly #current = new AsyncLocalStorage<Work>()
  readonly #under = new Set<Work>()

  /** @param patienceMillis real time after which work that neither ends nor rests is not waited for: something holds it up */
  constructor(patienceMillis = 2000) {
    this.#patienceMillis = patienceMillis
  }

  /** Runs work that time waits for. */
  attend<T>(run: () => Promise<T>): Promise<T> {
    const work: Work = { resting: 0, lasting: 0, lastedUntil: 0, isHeldUp: false }
    this.#under.add(work)
    return this.#current.run(work, async () => {
      try {
        return await run()
      } finally {
        this.#under.delete(work)
      }
    })
  }

  /** Meanwhile time does not wait for the work that this is a part of. */
  async rest<T>(wait: () => Promise<T>): Promise<T> {
    const work = this.#current.getStore()
    if (work === undefined) return wait()
    work.resting++
    try {
      return await wait()
    } finally {
      work.resting--
      work.isHeldUp = false
    }
  }

  /** Time waits for the work that this is a part of, however long that takes. It ends by itself. */
  async last<T>(work: () => Promise<T>): Promise<T> {
    const current = this.#current.getStore()
    if (current === undefined) return work()
    current.lasting++
    try {
      return await work()
    } finally {
      current.lasting--
      current.lastedUntil = performance.now()
    }
  }

  /** Resolves when all work has ended, rests, or is held up. */
  async settled(): Promise<void> {
    const begin = performance.now()
    // One turn in any case: callers of timers go on in it.
    await new Promise(setImmediate)
    while (this.#awake().length > 0) {
      this.#giveUp(begin)
      await new Promise(setImmediate)
    }
  }

  /** @param begin since when it is waited */
  #giveUp(begin: number): void {
    const now = performance.now()
    for (const work of this.#awake())
      work.isHeldUp = work.lasting === 0 && now - Math.max(begin, work.lastedUntil) >= this.#patienceMillis
  }

  #awake(): Work[] {
    return [...this.#under].filter(({ resting, isHeldUp }) => resting === 0 && !isHeldUp)
  }
}
