/**
 * What one task writes, step by step: each step sees what the ones before it wrote, and the disk is waited for only where
 * somebody learns of it.
 */
import type { Store, Transaction } from '../../store/store.ts'

export class Commits {
  #pending: Promise<void>[] = []
  #after: (() => void)[] = []

  /** Resolves when it is written. Durable it is after `done`. */
  stage<T>(store: Store, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { applied, durable } = store.stage(work)
    // Who waits for a commit is told by `done` that it failed.
    durable.catch(() => undefined)
    this.#pending.push(durable)
    return applied
  }

  /** What may only happen once everything so far is durable. */
  afterwards(works: readonly (() => void)[]): void {
    this.#after.push(...works)
  }

  /** Something is to happen after the commit. */
  get isAwaited(): boolean {
    return this.#after.length > 0
  }

  /** Resolves when all is durable. @throws why a commit failed: nothing that it held has happened */
  async done(): Promise<void> {
    const [pending, after] = [this.#pending, this.#after]
    this.#pending = []
    this.#after = []
    await Promise.all(pending)
    for (const work of after) work()
  }
}
