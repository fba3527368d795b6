/** First come first served. Work with several names waits for all of them at once. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<void>>()

  async runExclusive<T>(names: readonly string[], work: () => Promise<T>): Promise<T> {
    const before = names.map((name) => this.#last.get(name))
    const { promise: end, resolve } = Promise.withResolvers<void>()
    // All names are queued in one synchronous step, so that the order is the same in every queue: no deadlock.
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
