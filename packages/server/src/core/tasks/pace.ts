import { setTimeout } from 'node:timers/promises'
import type { Ids } from '../caller.ts'
import type { TrackingClock } from '../time/clock.ts'

export type Durations = 'instant' | 'natural'

export class Pace {
  readonly #clock: TrackingClock
  readonly #durations: Durations
  readonly #stopping: AbortSignal

  /** @param stopping ends all pauses: a frozen clock may never reach their end */
  constructor(clock: TrackingClock, durations: Durations, stopping: AbortSignal) {
    this.#clock = clock
    this.#durations = durations
    this.#stopping = stopping
  }

  /** World time. `instant`: a short real pause that doubles, so that endless retries do not keep a core busy. */
  async pause(milliseconds: number, tries = 0): Promise<void> {
    const signal = this.#stopping
    const wait =
      this.#durations === 'natural'
        ? this.#clock.sleep(milliseconds, signal)
        : this.#clock.idle(() => setTimeout(Math.min(2 ** tries, 1000), undefined, { signal }))
    await wait.catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
  }

  get simulatesDurations(): boolean {
    return this.#durations === 'natural'
  }

  /** Log-normal. @throws the reason when everything stops */
  async simulateDuration([median, p95]: readonly [number, number], ids: Ids, about: string): Promise<void> {
    if (!this.simulatesDurations) return
    const normal = Math.sqrt(-2 * Math.log(1 - ids.random())) * Math.cos(2 * Math.PI * ids.random())
    const seconds = median * Math.exp((normal * Math.log(p95 / median)) / 1.645)
    await this.#clock.sleep(1000 * Math.min(Math.max(seconds, median / 3), p95), this.#stopping, about)
  }
}
