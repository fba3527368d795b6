/**
 * Credentials that were verified a moment ago, so that not every request hashes a password: by keyed digest, for a minute
 * at most, and only until something about them changes. Source: behaviour conventions 14.
 */
import { hash, randomBytes } from 'node:crypto'
import type { Caller } from '../../core/context.ts'
import { createLru } from '../../core/lru.ts'

export interface KnownCredential {
  readonly caller: Caller
  /** World time after which it is worth nothing; API keys expire. */
  readonly endsAt: number
  /** The caller with the address that it came from last: one object for the same client's next request. */
  latest?: Caller
  /** World time of the last use that was written down. */
  notedAt: number
  /** The name that was given, where locks count by it. */
  readonly signedInAs?: string
  /** Of a user of a directory: the directory, and the real time until which its groups hold. */
  readonly provider?: { readonly extId: string; readonly until: number }
}

const rememberMilliseconds = 60_000
const maximumCredentials = 10_000

export class CredentialCache {
  /** Of this process alone: what is remembered is of no use to anybody else. */
  readonly #key = randomBytes(32).toString('base64url')
  readonly #now: () => number
  readonly #known = createLru<{ readonly credential: KnownCredential; readonly until: number }>(maximumCredentials)
  readonly #changes = createLru<number>(maximumCredentials)
  #allChanges = 0

  /** @param now real milliseconds */
  constructor(now: () => number) {
    this.#now = now
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

  /** Counts changes of an identity. Taken before its rows are read, it tells whether what was verified still stands. */
  stateOf(identity: string): string {
    return `${this.#allChanges}.${this.#changes.get(identity) ?? 0}`
  }

  /** Remembers what was verified, unless the identity changed since `state`. */
  remember(digest: string, credential: KnownCredential, state: string): void {
    if (state !== this.stateOf(credential.caller.extId)) return
    const until = Math.min(this.#now() + rememberMilliseconds, credential.provider?.until ?? Infinity)
    this.#known.set(digest, { credential, until })
  }

  /** A provider, or a group of it, changed: nothing that it verified is remembered any more. */
  forgetProvider(extId: string): void {
    this.#allChanges += 1
    for (const [digest, { credential }] of this.#known.entries()) {
      if (credential.provider?.extId === extId) this.#known.delete(digest)
    }
  }

  /** A password, a state or a key changed: nothing of this identity is remembered any more. */
  forget(identity: string): void {
    // An identity that falls out of the bounded list of changes must not look unchanged.
    if (this.#changes.size >= maximumCredentials) {
      this.#changes.clear()
      this.#allChanges += 1
    }
    this.#changes.set(identity, (this.#changes.get(identity) ?? 0) + 1)
    for (const [digest, { credential }] of this.#known.entries()) {
      if (credential.caller.extId === identity) this.#known.delete(digest)
    }
  }
}
