/**
 * A local user, else one of a directory. Failures get the same response after the same hashing, so that they do not reveal local names.
 * Source: behaviour conventions 14; iam.md 1, 2.
 */

import { User } from '@hyperplane/contract/iam/user'
import { ApiError } from '../../../core/api-error.ts'
import type { Caller } from '../../../core/caller.ts'
import { DirectoryError } from '../../../drivers/directory.ts'
import { localProviderId } from '../../accounts/local-provider.ts'
import type { KnownCredential } from '../credential-cache.ts'
import type { DirectoryAccount } from '../directory/sign-in.ts'
import { callerFrom, type Desk, millisecondsOf, type Outcome } from './desk.ts'

/** Milliseconds of real time. */
const attackDelay = 1000

const maximumName = 255

interface BasicCredential {
  readonly name: string
  readonly password: string
}

export class PasswordSignIn {
  readonly #desk: Desk
  /** Concurrent requests with the same credential hash it once. */
  readonly #attempts = new Map<string, Promise<Outcome>>()
  /** The attempts of one name and address run in sequence, so that the lock limit is exact. */
  readonly #queues = new Map<string, Promise<unknown>>()

  constructor(desk: Desk) {
    this.#desk = desk
  }

  /** @param header `Authorization`. @throws ApiError 401, 429 */
  async callerOf(header: string, address: string): Promise<Caller> {
    this.#desk.failures.admit(address)
    await this.#desk.signIns.load()
    const digest = this.#digestOf(header)
    return this.#accept(
      this.#cached(header, digest, address) ?? (await this.#firstUse(header, digest, address)),
      address,
    )
  }

  known(header: string, address: string): Caller | undefined {
    if (!this.#desk.failures.admits(address)) return undefined
    const credential = this.#cached(header, this.#digestOf(header), address)
    return credential && this.#accept(credential, address)
  }

  #digestOf(header: string): string {
    return this.#desk.cache.digestOf('basic', header.slice(header.indexOf(' ') + 1).trim())
  }

  #cached(header: string, digest: string, address: string): KnownCredential | undefined {
    const cached = isBasic.test(header) ? this.#desk.cache.get(digest) : undefined
    const isLocked = cached !== undefined && this.#desk.signIns.isLocked(cached.signedInAs ?? '', address)
    return isLocked ? undefined : cached
  }

  #accept(credential: KnownCredential, address: string): Caller {
    const { extId } = credential.caller
    this.#desk.note(credential, (transaction, time) => transaction.observe(User, extId, { lastLoginTime: time }))
    return callerFrom(credential, address)
  }

  async #firstUse(header: string, digest: string, address: string): Promise<KnownCredential> {
    const given = readBasic(header)
    if (given === undefined) {
      this.#desk.failures.count(address)
      throw new ApiError('AUTHENTICATION_REQUIRED')
    }
    const name = await this.#desk.directories.canonical(given.name)
    const outcome = await this.#attempt({ ...given, name }, digest, address)
    if (typeof outcome === 'string') throw new ApiError('AUTHENTICATION_REQUIRED')
    return outcome
  }

  async #attempt(given: BasicCredential, digest: string, address: string): Promise<Outcome> {
    const same = `${this.#desk.cache.generation} ${digest} ${address}`
    const running = this.#attempts.get(same)
    if (running !== undefined) {
      const outcome = await running
      // Requests that shared the attempt of another one count their own failure.
      if (outcome === 'refused') await this.#desk.signIns.fail(given.name, address)
      return outcome
    }
    const pair = `${given.name}\0${address}`
    const before = this.#queues.get(pair) ?? Promise.resolve()
    const result = this.#desk.cache.verified(() => this.#verify(given, digest, address, before))
    this.#attempts.set(same, result)
    this.#queues.set(pair, result)
    const tidy = (): void => {
      this.#attempts.delete(same)
      if (this.#queues.get(pair) === result) this.#queues.delete(pair)
    }
    result.then(tidy, tidy)
    return result
  }

  /** Directories are queried outside `failures.attempt`, so that other attempts do not wait. Outages are no failures; a refusal is one. */
  async #verify(given: BasicCredential, digest: string, address: string, before: Promise<unknown>): Promise<Outcome> {
    await before.catch(() => undefined)
    const began = this.#desk.real.now()
    let isUnderAttack = false
    const refusals = { count: 0 }
    const local = await this.#desk.failures.attempt(address, async () => {
      const credential = await this.#verifyLocally(given, digest, address, refusals)
      isUnderAttack = this.#desk.signIns.isUnderAttack(given.name)
      if (credential !== undefined) return credential
      const isOver = given.password === '' || this.#desk.signIns.isLocked(given.name, address)
      const accounts = isOver ? [] : await this.#desk.directories.accountsOf(given.name)
      if (accounts.length > 0) return accounts
      await this.#desk.signIns.fail(given.name, address)
      return 'refused'
    })
    const outcome = isAccounts(local) ? await this.#verifyInDirectories(local, given, digest, address, refusals) : local
    if (isAccounts(local) && typeof outcome === 'string' && refusals.count > 0)
      await this.#desk.signIns.fail(given.name, address)
    if (isUnderAttack) {
      await this.#desk.audit.writeAlone({
        credential: 'basic',
        address,
        operation: 'iam.signInAlarm',
        target: given.name,
        status: typeof outcome === 'string' ? 401 : 200,
      })
      const left = attackDelay - (this.#desk.real.now() - began)
      if (left > 0) await this.#desk.real.sleep(left)
    }
    return outcome
  }

  async #verifyLocally(
    given: BasicCredential,
    digest: string,
    address: string,
    refusals: { count: number },
  ): Promise<KnownCredential | undefined> {
    const current = await this.#desk.store.findOne(User, { idpId: localProviderId, username: given.name })
    const hash =
      current?.userType === 'LOCAL' && !this.#desk.signIns.isLocked(given.name, address)
        ? current.passwordHash
        : undefined
    // The same work for an unknown name, a service account and a locked pair: the time must not reveal the difference.
    const matches =
      hash === undefined || given.password === ''
        ? await this.#desk.world.services.passwords.verifyNone(given.password)
        : await this.#desk.world.services.passwords.verify(given.password, hash)
    if (!matches && hash !== undefined) {
      const previous = await this.#verifyPrevious(current as User, given, digest)
      if (previous !== undefined) return previous
      refusals.count++
    }
    if (!matches || current?.status !== 'ACTIVE') return undefined
    const mustChange = current.isForceResetPasswordEnabled === true ? { mustChangePassword: true } : {}
    return {
      digest,
      caller: this.#desk.callerOf(current, { credential: 'basic', ...mustChange }),
      endsAt: Infinity,
      notedAt: millisecondsOf(current.lastLoginTime),
      signedInAs: given.name,
    }
  }

  /** After a task changed the password, so that the caller sees its own success. */
  async #verifyPrevious(user: User, given: BasicCredential, digest: string): Promise<KnownCredential | undefined> {
    const { clock, world } = this.#desk
    const { hash, taskExtId, until } = user.previousPassword ?? {}
    const endsAt = until === undefined ? 0 : Date.parse(until)
    if (hash === undefined || taskExtId === undefined || endsAt <= clock.now() || user.status !== 'ACTIVE')
      return undefined
    if (!(await world.services.passwords.verify(given.password, hash))) return undefined
    return {
      digest,
      caller: this.#desk.callerOf(user, { credential: 'basic', readsOnlyTask: taskExtId }),
      endsAt,
      notedAt: millisecondsOf(user.lastLoginTime),
      signedInAs: given.name,
    }
  }

  async #verifyInDirectories(
    accounts: readonly DirectoryAccount[],
    given: BasicCredential,
    digest: string,
    address: string,
    refusals: { count: number },
  ): Promise<Outcome> {
    let outcome: Outcome = 'refused'
    for (const account of accounts) {
      try {
        const credential = await this.#verifyInDirectory(account, given, digest)
        if (credential !== undefined) return credential
        refusals.count++
      } catch (error) {
        if (!(error instanceof DirectoryError)) throw error
        outcome = 'unavailable'
        await this.#desk.audit.writeAlone({
          credential: 'basic',
          address,
          operation: 'iam.signIn',
          target: given.name,
          status: 401,
          decision: `directory ${account.directory.name}: ${error.message}`,
        })
      }
    }
    return outcome
  }

  async #verifyInDirectory(
    account: DirectoryAccount,
    given: BasicCredential,
    digest: string,
  ): Promise<KnownCredential | undefined> {
    const signedIn = await this.#desk.directories.signIn(account, given.password)
    if (signedIn === undefined) return undefined
    return {
      digest,
      caller: this.#desk.callerOf(signedIn.user, { credential: 'basic' }, signedIn.groups),
      endsAt: Infinity,
      notedAt: millisecondsOf(signedIn.user.lastLoginTime),
      signedInAs: given.name,
      providers: [account.directory.extId],
      groupsUntil: signedIn.until,
    }
  }
}

const isAccounts = (local: Outcome | readonly DirectoryAccount[]): local is readonly DirectoryAccount[] =>
  Array.isArray(local)

const isBasic = /^basic /i

function readBasic(header: string): BasicCredential | undefined {
  const match = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(header)
  if (match === null) return undefined
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(match[1] as string, 'base64'))
  } catch {
    return undefined
  }
  const at = text.indexOf(':')
  if (at < 0 || at > maximumName) return undefined
  return { name: text.slice(0, at).normalize('NFC').toLowerCase(), password: text.slice(at + 1) }
}
