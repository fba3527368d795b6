/**
 * How a statement notices that its time is up. Nothing can interrupt a statement of node:sqlite from outside; so the
 * statement asks: `in_time()` stands before its other conditions, and is called for each row that it looks at.
 */
import type { DatabaseSync } from 'node:sqlite'

/** Call that guards a condition, always true. It costs a quarter of a microsecond. */
export const inTime = 'in_time()'

/** A statement was stopped: it had run for as long as it may. */
export class TimeIsUp extends Error {}

export class TimeLimit {
  #until = Number.POSITIVE_INFINITY

  /** Every connection whose statements carry the guard needs it, also where nothing limits them. */
  register(database: Pick<DatabaseSync, 'function'>): void {
    // Not deterministic: such a call without arguments would be made once, before the first row.
    database.function('in_time', { deterministic: false, directOnly: true }, () => {
      if (performance.now() >= this.#until) throw new TimeIsUp()
      return 1
    })
  }

  /** @throws TimeIsUp once statements of `work` have run for as many milliseconds of real time */
  within<T>(milliseconds: number, work: () => T): T {
    this.#until = performance.now() + milliseconds
    try {
      return work()
    } finally {
      this.#until = Number.POSITIVE_INFINITY
    }
  }
}
