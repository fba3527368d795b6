/** node:sqlite cannot interrupt statements: they call `in_time()` for each row, before their other conditions. */
import type { DatabaseSync } from 'node:sqlite'

/** Always true; a call costs a quarter of a microsecond. */
export const inTime = 'in_time()'

/** Real time for processor time: a query that waits for the disk uses hardly any of the latter. */
const waitingFactor = 10

export class TimeIsUp extends Error {}

export class TimeLimit {
  #until = Number.POSITIVE_INFINITY
  #isUsedUp = (): boolean => true

  /** Every connection that runs guarded statements needs this, even without a limit. */
  register(database: Pick<DatabaseSync, 'function'>): void {
    // Not deterministic: SQLite would call a deterministic function without arguments only once, before the first row.
    database.function('in_time', { deterministic: false, directOnly: true }, () => {
      if (performance.now() >= this.#until && this.#isUsedUp()) throw new TimeIsUp()
      return 1
    })
  }

  /** @throws TimeIsUp after this real time */
  within<T>(milliseconds: number, work: () => T): T {
    return this.#guarding(milliseconds, () => true, work)
  }

  /** Time in which the machine does not run this thread does not count. @throws TimeIsUp after this processor time, or ten times as much real time */
  withinProcessorTime<T>(milliseconds: number, work: () => T): T {
    const [before, began] = [process.threadCpuUsage(), performance.now()]
    const isUsedUp = (): boolean => {
      const { user, system } = process.threadCpuUsage(before)
      const now = performance.now()
      const left = Math.min(milliseconds - (user + system) / 1000, began + waitingFactor * milliseconds - now)
      this.#until = now + left
      return left <= 0
    }
    return this.#guarding(milliseconds, isUsedUp, work)
  }

  #guarding<T>(milliseconds: number, isUsedUp: () => boolean, work: () => T): T {
    this.#until = performance.now() + milliseconds
    this.#isUsedUp = isUsedUp
    try {
      return work()
    } finally {
      this.#until = Number.POSITIVE_INFINITY
    }
  }
}
