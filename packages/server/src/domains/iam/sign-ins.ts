/**
 * Failures lock a name and address, or slow a name. Locks are stored, counts are not; `FailedSignIns` limits addresses over all worlds.
 * Source: behaviour conventions 14.
 */
import { createHash } from 'node:crypto'
import type { FailedSignIns } from '../../core/access/failed-sign-ins.ts'
import { createLru } from '../../core/lru.ts'
import { pathOf } from '../../core/standard.ts'
import { type Clock, formatTime, parseTime } from '../../core/time/clock.ts'
import { compares, type TypedFilter } from '../../odata/index.ts'
import type { Store } from '../../store/store.ts'
import { SignInLock } from './records.ts'

const minute = 60_000
const pairRule = { failures: 5, within: 15 * minute, lockedFor: 15 * minute }
const nameRule = { failures: 50, within: 60 * minute }
const maximumTracked = 20_000

export interface SignInsOptions {
  readonly store: Store
  readonly clock: Clock
  readonly failures: FailedSignIns
  readonly enabled: boolean
}

export class SignIns {
  readonly #options: SignInsOptions
  readonly #pairFailures = createLru<number[]>(maximumTracked)
  readonly #nameFailures = createLru<number[]>(maximumTracked)
  readonly #locks = new Map<string, { readonly name: string; readonly until: number }>()
  #loaded: Promise<void> | undefined

  constructor(options: SignInsOptions) {
    this.#options = options
  }

  load(): Promise<void> {
    this.#loaded ??= this.#options.store.find(SignInLock).then((locks) => {
      for (const lock of locks) this.#locks.set(lock.extId, { name: lock.name, until: parseTime(lock.until) ?? 0 })
    })
    return this.#loaded
  }

  isLocked(name: string, address: string): boolean {
    if (!this.#options.enabled || this.#locks.size === 0) return false
    const id = lockId(name, address)
    const lock = this.#locks.get(id)
    if (lock === undefined) return false
    if (lock.until > this.#options.clock.now()) return true
    this.#locks.delete(id)
    return false
  }

  isUnderAttack(name: string): boolean {
    if (!this.#options.enabled) return false
    return within(this.#nameFailures.get(name), this.#options.clock.now() - nameRule.within).length >= nameRule.failures
  }

  /** Resolves after a lock that it causes is stored. */
  async fail(name: string, address: string): Promise<void> {
    this.#options.failures.count(address)
    if (!this.#options.enabled) return
    const now = this.#options.clock.now()
    noted(this.#nameFailures, name, now, nameRule)
    if (this.isLocked(name, address)) return
    const pair = `${name}\0${address}`
    if (noted(this.#pairFailures, pair, now, pairRule) < pairRule.failures) return
    this.#pairFailures.delete(pair)
    await this.#lock(lockId(name, address), name, now + pairRule.lockedFor)
  }

  /** Call after an administrator reset the password. The caller removes the stored locks. */
  unlock(name: string): void {
    for (const [id, lock] of this.#locks) if (lock.name === name) this.#locks.delete(id)
    this.#nameFailures.delete(name)
    for (const pair of this.#pairFailures.keys()) if (pair.startsWith(`${name}\0`)) this.#pairFailures.delete(pair)
  }

  async #lock(extId: string, name: string, until: number): Promise<void> {
    const now = this.#options.clock.now()
    for (const [id, lock] of this.#locks) if (lock.until <= now) this.#locks.delete(id)
    this.#locks.set(extId, { name, until })
    await this.#options.store.transaction(async (transaction) => {
      await transaction.removeWhere(SignInLock, endedBefore(this.#options.clock.iso()))
      const row = { extId, name, until: formatTime(until) }
      if (!(await transaction.has(SignInLock, extId))) await transaction.insert(SignInLock, row)
      else await transaction.replace(SignInLock, row)
    })
  }
}

const lockId = (name: string, address: string): string =>
  createHash('sha256').update(`${name}\0${address}`).digest('base64url')

const within = (times: readonly number[] | undefined, after: number): readonly number[] =>
  times?.filter((time) => time > after) ?? []

function noted(
  counts: ReturnType<typeof createLru<number[]>>,
  name: string,
  now: number,
  rule: { failures: number; within: number },
): number {
  const recent = [...within(counts.get(name), now - rule.within), now].slice(-rule.failures)
  counts.set(name, recent)
  return recent.length
}

const endedBefore = (time: string): TypedFilter => compares(pathOf(SignInLock, 'until'), 'lt', time)
