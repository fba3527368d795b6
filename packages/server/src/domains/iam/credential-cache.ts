/** Verified credentials, cached for at most a minute of world time: hashing is slow. Source: behaviour conventions 14. */

import { hash, randomBytes } from 'node:crypto'
import type { Caller } from '../../core/caller.ts'
import { createLru } from '../../core/lru.ts'

export interface KnownCredential {
  readonly digest: string
  readonly caller: Caller
  readonly endsAt: number
  /** With its latest address, so that requests from one client share one object. */
  latest?: Caller
  notedAt: number
  readonly signedInAs?: string
  readonly providers?: readonly string[]
  readonly groupsUntil?: number
}

const cacheMilliseconds = 60_000
const maximumCredentials = 10_000

export class CredentialCache {
  readonly #key = randomBytes(32).toString('base64url')
  readonly #now: () => number
  readonly #cache = createLru<{ readonly credential: KnownCredential; readonly until: number }>(maximumCredentials)
  readonly #underWay = new Set<Set<string>>()
  #generation = 0

  constructor(now: () => number) {
    this.#now = now
  }

  /** Rises with every change of an account or provider; a verification is shared only within one generation. */
  get generation(): number {
    return this.#generation
  }

  digestOf(scheme: 'basic' | 'apiKey' | 'certificate', text: string): string {
    // The one-shot hash costs a quarter of an HMAC. The digest never leaves this process.
    return hash('sha256', `${this.#key}\0${scheme}\0${text}\0${this.#key}`, 'base64url')
  }

  get(digest: string): KnownCredential | undefined {
    const entry = this.#cache.get(digest)
    if (entry === undefined) return undefined
    if (entry.until > this.#now()) return entry.credential
    this.#cache.delete(digest)
    return undefined
  }

  /** Runs `verify` again if the account or a provider changes meanwhile, so that an account closed during hashing does not sign in. */
  async verified<R>(verify: () => Promise<KnownCredential | R>): Promise<KnownCredential | R> {
    const changed = new Set<string>()
    this.#underWay.add(changed)
    try {
      for (;;) {
        changed.clear()
        const outcome = await verify()
        if (!isCredential(outcome)) return outcome
        if ([outcome.caller.extId, ...(outcome.providers ?? [])].some((extId) => changed.has(extId))) continue
        this.#remember(outcome)
        return outcome
      }
    } finally {
      this.#underWay.delete(changed)
    }
  }

  /** Call after a change of a provider, or of a group that belongs to it. */
  forgetProvider(extId: string): void {
    this.#change(extId)
    for (const [digest, { credential }] of this.#cache.entries()) {
      if (credential.providers?.includes(extId) === true) this.#cache.delete(digest)
    }
  }

  /** Call after a change of a password, a key, or the state of an account. */
  forget(identity: string): void {
    this.#change(identity)
    for (const [digest, { credential }] of this.#cache.entries()) {
      if (credential.caller.extId === identity) this.#cache.delete(digest)
    }
  }

  #change(extId: string): void {
    this.#generation += 1
    for (const changed of this.#underWay) changed.add(extId)
  }

  #remember(credential: KnownCredential): void {
    // A cache hit must not extend the expiry.
    if (this.#cache.get(credential.digest)?.credential === credential) return
    const until = Math.min(this.#now() + cacheMilliseconds, credential.groupsUntil ?? Infinity, credential.endsAt)
    this.#cache.set(credential.digest, { credential, until })
  }
}

const isCredential = (outcome: unknown): outcome is KnownCredential =>
  typeof outcome === 'object' && outcome !== null && 'caller' in outcome
