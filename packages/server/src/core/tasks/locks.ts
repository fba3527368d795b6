/** Tasks that change the same entity run in the order of acceptance. A task takes all its locks together. */
export class LockTable {
  readonly #queues = new Map<string, string[]>()
  readonly #locksOf = new Map<string, readonly string[]>()

  enqueue(holder: string, locks: readonly string[]): void {
    const distinct = [...new Set(locks)]
    this.#locksOf.set(holder, distinct)
    for (const lock of distinct) {
      const queue = this.#queues.get(lock)
      if (queue === undefined) this.#queues.set(lock, [holder])
      else queue.push(holder)
    }
  }

  isFree(holder: string): boolean {
    return (this.#locksOf.get(holder) ?? []).every((lock) => this.#queues.get(lock)?.[0] === holder)
  }

  release(holder: string): void {
    for (const lock of this.#locksOf.get(holder) ?? []) {
      const queue = (this.#queues.get(lock) ?? []).filter((waiting) => waiting !== holder)
      if (queue.length === 0) this.#queues.delete(lock)
      else this.#queues.set(lock, queue)
    }
    this.#locksOf.delete(holder)
  }

  queue(lock: string): readonly string[] {
    return this.#queues.get(lock) ?? []
  }
}
