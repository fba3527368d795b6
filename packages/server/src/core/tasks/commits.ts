/** Each step sees the writes of earlier steps, and waits for the disk only before an external effect. */
import type { Store, Transaction } from '../../store/store.ts'

export class Commits {
  #pending: Promise<void>[] = []
  #after: (() => void)[] = []

  /** Resolves when applied; durable after `done`. */
  stage<T>(store: Store, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { applied, durable } = store.stage(work)
    durable.catch(() => undefined)
    this.#pending.push(durable)
    return applied
  }

  afterwards(works: readonly (() => void)[]): void {
    this.#after.push(...works)
  }

  get isAwaited(): boolean {
    return this.#after.length > 0
  }

  /** @throws the error of a failed commit; nothing of it was applied */
  async done(): Promise<void> {
    const [pending, after] = [this.#pending, this.#after]
    this.#pending = []
    this.#after = []
    await Promise.all(pending)
    for (const work of after) work()
  }
}
