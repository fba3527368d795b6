/**
 * Credentials that were verified a moment ago, so that not every request hashes a password: by keyed digest, for a minute
 * of the world's time at most, and only until something about them changes. Source: behaviour conventions 14.
 */

import { hash, randomBytes } from 'node:crypto'
import type { Caller } from '../../core/caller.ts'
import { createLru } from '../../core/lru.ts'

export interface KnownCredential {
  /** Key of this cache, from `digestOf`. */
  readonly digest: string
  readonly caller: Caller
  /** World time after which it is worth nothing; API keys expire. */
  readonly endsAt: number
  /** The caller with the address that it came from last: one object for the same client's next request. */
  latest?: Caller
  /** World time of the last use that was written down. */
  notedAt: number
  /** The name that was given, where locks count by it. */
  readonly signedInAs?: string
  /** Directories whose answers led to this caller. */
  readonly providers?: readonly string[]
  /** World time until which the caller's groups hold. */
  readonly groupsUntil?: number
}

const rememberMilliseconds = 60_000
const maximumCredentials = 10_000

export class CredentialCache {
  /** Of this process alone: what is remembered is of no use to anybody else. */
  readonly #key = randomBytes(32).toString('base64url')
  readonly #now: () => number
  readonly #known = createLru<{ readonly credential: KnownCredential; readonly until: number }>(maximumCredentials)
  /** For each verification under way, the accounts and providers that changed since it began. */
  readonly #underWay = new Set<Set<string>>()
  #generation = 0

  /** @param now world time in milliseconds */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Rises with every change of an account or a provider: requests share a verification only within one generation. */
  get generation(): number {
    return this.#generation
  }

  digestOf(scheme: 'basic' | 'apiKey' | 'certificate', text: string): string {
    // Once a request: the one-shot hash costs a quarter of an HMAC. The digest never leaves this process.
    return hash('sha256', `${this.#key}\0${scheme}\0${text}\0${this.#key}`, 'base64url')
  }

  get(digest: string): KnownCredential | undefined {
    const entry = this.#known.get(digest)
    if (entry === undefined) return undefined
    if (entry.until > this.#now()) return entry.credential
    this.#known.delete(digest)
    return undefined
  }

  /**
   * Runs `verify` and remembers the credential that it returns. If the account or one of its providers changed while
   * `verify` ran, its result is discarded and it runs again: an account that is closed while its password is being
   * hashed does not sign in. Refusals are returned as they are.
   */
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

  /** A directory or another provider, or a group of it, changed: nothing that it verified is remembered any more. */
  forgetProvider(extId: string): void {
    this.#change(extId)
    for (const [digest, { credential }] of this.#known.entries()) {
      if (credential.providers?.includes(extId) === true) this.#known.delete(digest)
    }
  }

  /** A password, a state or a key changed: nothing of this identity is remembered any more. */
  forget(identity: string): void {
    this.#change(identity)
    for (const [digest, { credential }] of this.#known.entries()) {
      if (credential.caller.extId === identity) this.#known.delete(digest)
    }
  }

  #change(extId: string): void {
    this.#generation += 1
    for (const changed of this.#underWay) changed.add(extId)
  }

  #remember(credential: KnownCredential): void {
    // A credential that came from the cache keeps its end.
    if (this.#known.get(credential.digest)?.credential === credential) return
    const until = Math.min(this.#now() + rememberMilliseconds, credential.groupsUntil ?? Infinity)
    this.#known.set(credential.digest, { credential, until })
  }
}

const isCredential = (outcome: unknown): outcome is KnownCredential =>
  typeof outcome === 'object' && outcome !== null && 'caller' in outcome
