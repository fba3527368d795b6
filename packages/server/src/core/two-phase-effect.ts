/**
 * Returned by a handler whose side effect is slow. The pipeline validates in one transaction, runs `make` with no
 * transaction open, and calls `conclude` in a second one. `Machinery.serialised` orders requests for the same entity.
 */
import type { WriteContext } from './context.ts'

/** `any`: a handler receives the context of the pipeline that runs it. */
type Conclude<T> = (ctx: WriteContext<any>) => Promise<T>

export class TwoPhaseEffect<T = unknown> {
  readonly make: () => Promise<unknown>
  readonly conclude: Conclude<T>
  readonly revert: () => Promise<unknown>

  /**
   * @param parts.make performs the effect
   * @param parts.conclude stores the result, and answers
   * @param parts.giveUp reverts the effect if `make` or `conclude` failed
   */
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
