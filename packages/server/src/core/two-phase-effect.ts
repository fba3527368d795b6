/**
 * What a handler answers where its effect takes long and nobody else is to wait for it. The request is judged in one
 * transaction; the effect is made while none is open; a second one writes it down, with what is remembered of the request.
 * Who else asks for the same meanwhile waits its turn, see `Machinery.inTurn`.
 */
import type { WriteContext } from './context.ts'

export class TwoPhaseEffect<T = unknown> {
  readonly make: () => Promise<unknown>
  readonly conclude: (ctx: WriteContext<any>) => Promise<T>
  readonly revert: () => Promise<unknown>

  /**
   * @param parts.make makes the effect
   * @param parts.conclude writes it down, and answers
   * @param parts.giveUp takes back what was made, where making or writing it down failed
   */
  constructor(parts: {
    readonly make: () => Promise<unknown>
    readonly conclude: (ctx: WriteContext<any>) => Promise<T>
    readonly giveUp?: () => Promise<unknown>
  }) {
    this.make = parts.make
    this.conclude = parts.conclude
    this.revert = parts.giveUp ?? (async () => undefined)
  }
}
