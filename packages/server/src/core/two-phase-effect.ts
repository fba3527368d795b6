/** For a handler with a slow side effect: validation in one transaction, `make` outside any, `conclude` in a second. */
import type { WriteContext } from './context.ts'

type Conclude<T> = (ctx: Pick<WriteContext<unknown>, 'afterCommit' | 'store'>) => Promise<T>

export class TwoPhaseEffect<T = unknown> {
  readonly make: () => Promise<unknown>
  readonly conclude: Conclude<T>
  readonly revert: () => Promise<unknown>

  /** @param parts.giveUp reverts the effect if `make` or `conclude` failed */
  constructor(parts: {
    readonly make: () => Promise<unknown>
    readonly conclude: Conclude<T>
    readonly giveUp?: () => Promise<unknown>
  }) {
    this.make = parts.make
    this.conclude = parts.conclude
    this.revert = parts.giveUp ?? (async () => undefined)
  }
}
