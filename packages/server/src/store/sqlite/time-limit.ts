/** node:sqlite cannot interrupt statements: they call `in_time()` for each row, before their other conditions. */
import type { DatabaseSync } from 'node:sqlite'

/** Always true; a call costs a quarter of a microsecond. */
export const inTime = 'in_time()'

export class TimeIsUp extends Error {}

export class TimeLimit {
  #until = Number.POSITIVE_INFINITY

  /** Every connection that runs guarded statements needs this, even without a limit. */
  register(database: Pick<DatabaseSync, 'function'>): void {
    // Not deterministic: SQLite would call a deterministic function without arguments only once, before the first row.
    database.function('in_time', { deterministic: false, directOnly: true }, () => {
      if (performance.now() >= this.#until) throw new TimeIsUp()
      return 1
    })
  }

  /** @throws TimeIsUp after this real time */
  within<T>(milliseconds: number, work: () => T): T {
    this.#until = performance.now() + milliseconds
    try {
      return work()
    } finally {
      this.#until = Number.POSITIVE_INFINITY
    }
  }
}
