export class Semaphore {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  /** @param patience ends the wait, not the work: its reason is thrown if it aborts before a slot is free */
  async use<T>(work: () => Promise<T>, patience?: AbortSignal): Promise<T> {
    if (this.#free > 0) this.#free--
    else await this.#wait(patience)
    try {
      return await work()
    } finally {
      // The slot passes to the next waiter directly, so that no newcomer can take it.
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }

  #wait(patience: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      patience?.throwIfAborted()
      const proceed = (): void => {
        patience?.removeEventListener('abort', giveUp)
        resolve()
      }
      const giveUp = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(proceed), 1)
        reject(patience?.reason)
      }
      this.#waiting.push(proceed)
      patience?.addEventListener('abort', giveUp, { once: true })
    })
  }
}
