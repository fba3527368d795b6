/** Sliding windows per operation and identity, in real time. Source: conventions 17. */
import type { Operation, RateLimit } from '@hyperplane/contract'
import { ApiError } from '../api-error.ts'
import { createLru } from '../lru.ts'

export type Tier = 'xsmall' | 'small' | 'large' | 'xlarge'
const tiers: readonly Tier[] = ['xsmall', 'small', 'large', 'xlarge']

/** For a tier without a figure: the nearest smaller tier's, else the nearest larger one's. */
export function limitAt(rate: RateLimit, tier: Tier): number {
  const at = tiers.indexOf(tier)
  for (let index = at; index >= 0; index--) {
    const figure = rate[tiers[index] as Tier]
    if (figure !== undefined) return figure
  }
  for (let index = at + 1; index < tiers.length; index++) {
    const figure = rate[tiers[index] as Tier]
    if (figure !== undefined) return figure
  }
  return Infinity
}

class Window {
  readonly times: number[] = []
  #oldest = 0

  wait(now: number, limit: number, unit: number): number {
    while (this.#oldest < this.times.length && (this.times[this.#oldest] as number) <= now - unit) this.#oldest++
    if (this.#oldest > 64 && this.#oldest * 2 > this.times.length) {
      this.times.splice(0, this.#oldest)
      this.#oldest = 0
    }
    const used = this.times.length - this.#oldest
    return used < limit ? 0 : (this.times[this.#oldest + used - limit] as number) + unit - now
  }

  used(): number {
    return this.times.length - this.#oldest
  }

  accept(now: number): void {
    this.times.push(now)
  }

  reset(now: number, unit: number): number {
    const oldest = this.times[this.#oldest]
    return oldest === undefined ? 0 : oldest + unit - now
  }
}

export interface RateHeaders {
  readonly [name: string]: string
}

export interface RateLimiter {
  /** @throws ApiError 429 with Retry-After when a bucket is full (mode `on`) */
  count(operation: Operation, identity: string): RateHeaders
  countAnonymous(address: string): void
}

/** Shared by all worlds: separate limits would reveal the traffic of another world. */
export type AnonymousLimit = Pick<RateLimiter, 'countAnonymous'>

export interface RateLimiterOptions {
  readonly mode: 'on' | 'report' | 'off'
  readonly tier: Tier
  readonly anonymous: AnonymousLimit
  readonly now: () => number
  readonly perIdentity?: number
}

const anonymousPerSecond = 20

const maximumWindows = 20_000

const refuse = (bucket: string, limit: number, unit: string, wait: number): ApiError => {
  const seconds = Math.max(1, Math.ceil(wait / 1000))
  const error = new ApiError('RATE_LIMIT_EXCEEDED', { bucket, limit, unit, seconds })
  error.headers['Retry-After'] = String(seconds)
  return error
}

const windowsByName = (): ((name: string) => Window) => {
  const windows = createLru<Window>(maximumWindows)
  return (name) => {
    let window = windows.get(name)
    if (window === undefined) windows.set(name, (window = new Window()))
    return window
  }
}

export function createAnonymousLimit({ mode, now }: Pick<RateLimiterOptions, 'mode' | 'now'>): AnonymousLimit {
  const windowOf = windowsByName()
  return {
    countAnonymous(address) {
      if (mode !== 'on') return
      const window = windowOf(address)
      const wait = window.wait(now(), anonymousPerSecond, 1000)
      if (wait > 0) throw refuse('This address', anonymousPerSecond, 'second', wait)
      window.accept(now())
    },
  }
}

export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const windowOf = windowsByName()
  const perIdentity = options.perIdentity ?? 200

  return {
    count(operation, identity) {
      if (options.mode === 'off') return {}
      const now = options.now()
      const unit = operation.rateLimit.per === 'minute' ? 60_000 : 1000
      const limit = limitAt(operation.rateLimit, options.tier)
      const own = windowOf(`${operation.key}\0${identity}`)
      const all = windowOf(identity)
      const waitOwn = own.wait(now, limit, unit)
      const waitAll = all.wait(now, perIdentity, 1000)
      const refused = options.mode === 'on' && (waitOwn > 0 || waitAll > 0)
      if (!refused) {
        own.accept(now)
        all.accept(now)
      }
      const headers: Record<string, string> = {
        'X-Api-Ratelimit-Limit': String(limit),
        'X-Api-Ratelimit-Remaining': String(Math.max(0, limit - own.used())),
        'X-Api-Ratelimit-Reset': String(Math.max(0, Math.ceil(own.reset(now, unit) / 1000))),
        'X-Api-Ratelimit-Refresh-Period-Seconds': String(unit / 1000),
        'X-Ratelimit-Limit': String(perIdentity),
        'X-Ratelimit-Remaining': String(Math.max(0, perIdentity - all.used())),
        'X-Ratelimit-Reset': String(Math.max(0, Math.ceil(all.reset(now, 1000) / 1000))),
      }
      if (refused) {
        const error =
          waitOwn > 0
            ? refuse(operation.id, limit, operation.rateLimit.per, waitOwn)
            : refuse('The identity', perIdentity, 'second', waitAll)
        Object.assign(error.headers, headers)
        throw error
      }
      return headers
    },
    countAnonymous: options.anonymous.countAnonymous,
  }
}
