/**
 * Counts failures by source address, over all worlds and the control interface; resets of worlds do not clear it.
 * Source: behaviour conventions 14; decision guessing-is-bounded-over-all-worlds.
 */
import { ApiError } from '../api-error.ts'
import { createLru } from '../lru.ts'
import type { Clock } from '../time/clock.ts'

export const failuresPerMinute = 60
const minute = 60_000
/** Beyond this number, the address with the oldest last failure is forgotten. */
const maximumAddresses = 20_000

export interface FailedSignInsOptions {
  readonly real: Pick<Clock, 'now'>
  readonly enabled: boolean
}

export class FailedSignIns {
  readonly #options: FailedSignInsOptions
  readonly #failures = createLru<readonly number[]>(maximumAddresses)
  readonly #pendingCounts = new Map<string, number>()
  readonly #waiting = new Map<string, (() => void)[]>()

  constructor(options: FailedSignInsOptions) {
    this.#options = options
  }

  count(address: string): void {
    if (!this.#options.enabled) return
    this.#failures.set(address, [...this.#recent(address), this.#options.real.now()].slice(-failuresPerMinute))
  }

  admits(address: string): boolean {
    return !this.#options.enabled || this.#recent(address).length < failuresPerMinute
  }

  /** @throws ApiError 429 */
  admit(address: string): void {
    if (!this.#options.enabled) return
    const recent = this.#recent(address)
    if (recent.length < failuresPerMinute) return
    const seconds = Math.max(1, Math.ceil(((recent[0] as number) + minute - this.#options.real.now()) / 1000))
    const error = new ApiError('TOO_MANY_FAILED_SIGN_INS', { seconds })
    error.headers['Retry-After'] = String(seconds)
    throw error
  }

  /** Waits while running attempts could use up the remaining failures: concurrency cannot exceed the limit. @throws ApiError 429 */
  async attempt<T>(address: string, work: () => Promise<T>): Promise<T> {
    for (;;) {
      this.admit(address)
      const pendingCount = this.#pendingCounts.get(address) ?? 0
      if (this.#recent(address).length + pendingCount < failuresPerMinute) break
      await new Promise<void>((resolve) => {
        this.#waiting.set(address, [...(this.#waiting.get(address) ?? []), resolve])
      })
    }
    this.#pendingCounts.set(address, (this.#pendingCounts.get(address) ?? 0) + 1)
    try {
      return await work()
    } finally {
      this.#end(address)
    }
  }

  #end(address: string): void {
    const left = (this.#pendingCounts.get(address) ?? 1) - 1
    if (left === 0) this.#pendingCounts.delete(address)
    else this.#pendingCounts.set(address, left)
    const waiting = this.#waiting.get(address) ?? []
    this.#waiting.delete(address)
    for (const resume of waiting) resume()
  }

  #recent(address: string): readonly number[] {
    const after = this.#options.real.now() - minute
    return this.#failures.get(address)?.filter((time) => time > after) ?? []
  }
}
