/** One at a time for each name, in the order of asking; whoever needs several names waits for all of them at once. */
export class KeyedMutex {
  /** The end of the last one that asked. */
  readonly #last = new Map<string, Promise<void>>()

  /** Waits for those that asked before for any of these names. */
  async runExclusive<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    const before = names.map((name) => this.#last.get(name))
    const { promise: end, resolve } = Promise.withResolvers<void>()
    // In the same turn for all names: of two that share some, one comes first everywhere.
    for (const name of names) this.#last.set(name, end)
    await Promise.all(before)
    try {
      return await work()
    } finally {
      for (const name of names) if (this.#last.get(name) === end) this.#last.delete(name)
      resolve()
    }
  }
}
