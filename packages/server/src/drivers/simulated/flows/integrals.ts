/** Exact sums of rates over all 30 s since a time. Source: behaviour networking.md 3.3. */
import { createLru } from '../../../core/lru.ts'
import { createPause } from '../../../store/pause.ts'
import { readingSeconds } from '../../telemetry.ts'

/** For the 30 s that end at `time`. A promise only where the flows are not known yet. */
type RatesAt = (time: number) => readonly number[] | Promise<readonly number[]>

interface Sums {
  readonly since: number
  /** Sums at the end of each hour. */
  readonly hours: (readonly number[])[]
}

export const bucketMillis = 1000 * readingSeconds
const bucketsOfHour = 3600 / readingSeconds
const keptSums = 100

export class Integrals {
  readonly #cached = createLru<Sums>(keptSums)

  /** Sums before `time` stay valid after a change of the network. */
  forgetAfter(time: number): void {
    for (const { since, hours } of this.#cached.values()) {
      const last = Math.max(0, Math.floor((bucketOf(time) - bucketOf(since)) / bucketsOfHour))
      hours.splice(last)
    }
  }

  /** @param key of the sum @param since the first 30 s that count end after it @param times ascending */
  async at(
    key: string,
    since: number,
    ratesAt: RatesAt,
    times: readonly number[],
  ): Promise<readonly (readonly number[])[]> {
    let sums = this.#cached.get(key)
    if (sums?.since !== since) this.#cached.set(key, (sums = { since, hours: [] }))
    const first = bucketOf(since)
    const walk = { bucket: first, total: (await ratesAt(since)).map(() => 0) }
    const found: (readonly number[])[] = []
    const pause = createPause()
    for (const time of times) {
      const end = Math.max(first, bucketOf(time))
      const hour = Math.min(sums.hours.length, Math.floor((end - first) / bucketsOfHour))
      if (hour > 0 && first + hour * bucketsOfHour > walk.bucket) {
        walk.bucket = first + hour * bucketsOfHour
        walk.total = [...sums.hours[hour - 1]!]
      }
      while (walk.bucket < end) {
        walk.bucket++
        const rates = ratesAt(walk.bucket * bucketMillis)
        for (const [index, rate] of (rates instanceof Promise ? await rates : rates).entries())
          walk.total[index]! += rate * readingSeconds
        const passed = (walk.bucket - first) / bucketsOfHour
        if (passed === sums.hours.length + 1) sums.hours.push([...walk.total])
        const turn = pause()
        if (turn !== undefined) await turn
      }
      found.push([...walk.total])
    }
    return found
  }
}

const bucketOf = (time: number): number => Math.floor(time / bucketMillis)
