/**
 * Who is it, by a name and a password: a local user, else one of a directory. Whatever is wrong, the answer is the same, after
 * the same work. Source: behaviour conventions 14; iam.md 1, 2.
 */

import { User } from '@hyperplane/contract/iam/user'
import { ApiError } from '../../../core/api-error.ts'
import type { Caller } from '../../../core/caller.ts'
import { DirectoryError } from '../../../drivers/directory.ts'
import { localProviderId } from '../../accounts/local-provider.ts'
import type { KnownCredential } from '../credential-cache.ts'
import type { DirectoryAccount } from '../directory/sign-in.ts'
import { callerFrom, type Desk, type Outcome, timeOf } from './desk.ts'

/** Answers for a name that is being tried from everywhere come no sooner. */
const attackDelay = 1000

/** Longer ones cannot be stored. */
const maximumName = 255

interface BasicCredential {
  /** In lower case. */
  readonly name: string
  readonly password: string
}

/** @returns the caller of a header `Basic ...`; it throws ApiError 401, 429 */
export function createPasswordSignIn(desk: Desk): (header: string, address: string) => Promise<Caller> {
  const { store, real, audit, known, failures, signIns, directories, callerOf, note } = desk
  /**
   * Attempts under way, by credential and address: the same one at once costs one hash. A request that begins after an
   * account or a provider changed joins none from before.
   */
  const attempts = new Map<string, Promise<Outcome>>()
  /** The last attempt of each pair of name and address: they run one after another, so that no five turn into fifty. */
  const queues = new Map<string, Promise<unknown>>()

  async function byPassword(header: string, address: string): Promise<Caller> {
    failures.admit(address)
    await signIns.load()
    const digest = known.digestOf('basic', header.slice(header.indexOf(' ') + 1).trim())
    const remembered = isBasic.test(header) ? known.get(digest) : undefined
    const isUsable = remembered !== undefined && !signIns.isLocked(remembered.signedInAs ?? '', address)
    const credential = isUsable ? remembered : await firstUse(header, digest, address)
    const { extId } = credential.caller
    note(credential, (transaction, time) => transaction.observe(User, extId, { lastLoginTime: time }))
    return callerFrom(credential, address)
  }

  async function firstUse(header: string, digest: string, address: string): Promise<KnownCredential> {
    const given = readBasic(header)
    if (given === undefined) {
      failures.count(address)
      throw new ApiError('AUTHENTICATION_REQUIRED')
    }
    const name = await directories.canonical(given.name)
    const outcome = await attempt({ ...given, name }, digest, address)
    if (typeof outcome === 'string') throw new ApiError('AUTHENTICATION_REQUIRED')
    return outcome
  }

  async function attempt(given: BasicCredential, digest: string, address: string): Promise<Outcome> {
    const same = `${known.generation} ${digest} ${address}`
    const running = attempts.get(same)
    if (running !== undefined) {
      const outcome = await running
      // The attempt counted the failure of the request that began it.
      if (outcome === 'refused') await signIns.fail(given.name, address)
      return outcome
    }
    const pair = `${given.name}\0${address}`
    const before = queues.get(pair) ?? Promise.resolve()
    const result = known.verified(() => verify(given, digest, address, before))
    attempts.set(same, result)
    queues.set(pair, result)
    const tidy = (): void => {
      attempts.delete(same)
      if (queues.get(pair) === result) queues.delete(pair)
    }
    result.then(tidy, tidy)
    return result
  }

  /**
   * Local users first; then directories, which count for no limit while they are waited for. A failure is counted before
   * the attempt ends. A directory that cannot answer has refused nobody; what another one, or the local password, refused
   * is counted all the same.
   */
  async function verify(
    given: BasicCredential,
    digest: string,
    address: string,
    before: Promise<unknown>,
  ): Promise<Outcome> {
    await before.catch(() => undefined)
    const began = real.now()
    let isUnderAttack = false
    const refusals = { count: 0 }
    const local = await failures.attempt(address, async () => {
      const credential = await verifyLocally(given, digest, address, refusals)
      isUnderAttack = signIns.isUnderAttack(given.name)
      if (credential !== undefined) return credential
      const isOver = given.password === '' || signIns.isLocked(given.name, address)
      const accounts = isOver ? [] : await directories.accountsOf(given.name)
      if (accounts.length > 0) return accounts
      await signIns.fail(given.name, address)
      return 'refused'
    })
    const outcome = isAccounts(local) ? await verifyInDirectories(local, given, digest, address, refusals) : local
    if (isAccounts(local) && typeof outcome === 'string' && refusals.count > 0) await signIns.fail(given.name, address)
    if (isUnderAttack) {
      await audit.writeAlone({
        credential: 'basic',
        address,
        operation: 'iam.signInAlarm',
        target: given.name,
        status: typeof outcome === 'string' ? 401 : 200,
      })
      const left = attackDelay - (real.now() - began)
      if (left > 0) await real.sleep(left)
    }
    return outcome
  }

  async function verifyLocally(
    given: BasicCredential,
    digest: string,
    address: string,
    refusals: { count: number },
  ): Promise<KnownCredential | undefined> {
    const current = await store.findOne(User, { idpId: localProviderId, username: given.name })
    const hash =
      current?.userType === 'LOCAL' && !signIns.isLocked(given.name, address) ? current.passwordHash : undefined
    // The same work for a name that does not exist, a service account and a locked pair.
    const matches =
      hash === undefined || given.password === ''
        ? await desk.world.services.passwords.verifyNone(given.password)
        : await desk.world.services.passwords.verify(given.password, hash)
    if (!matches && hash !== undefined) refusals.count++
    if (!matches || current?.status !== 'ACTIVE') return undefined
    const mustChange = current.isForceResetPasswordEnabled === true ? { mustChangePassword: true } : {}
    return {
      digest,
      caller: callerOf(current, { credential: 'basic', ...mustChange }),
      endsAt: Infinity,
      notedAt: timeOf(current.lastLoginTime),
      signedInAs: given.name,
    }
  }

  async function verifyInDirectories(
    accounts: readonly DirectoryAccount[],
    given: BasicCredential,
    digest: string,
    address: string,
    refusals: { count: number },
  ): Promise<Outcome> {
    let outcome: Outcome = 'refused'
    for (const account of accounts) {
      try {
        const credential = await verifyInDirectory(account, given, digest)
        if (credential !== undefined) return credential
        refusals.count++
      } catch (error) {
        if (!(error instanceof DirectoryError)) throw error
        outcome = 'unavailable'
        await audit.writeAlone({
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

  async function verifyInDirectory(
    account: DirectoryAccount,
    given: BasicCredential,
    digest: string,
  ): Promise<KnownCredential | undefined> {
    const signedIn = await directories.signIn(account, given.password)
    if (signedIn === undefined) return undefined
    return {
      digest,
      caller: callerOf(signedIn.user, { credential: 'basic' }, signedIn.groups),
      endsAt: Infinity,
      notedAt: timeOf(signedIn.user.lastLoginTime),
      signedInAs: given.name,
      providers: [account.directory.extId],
      groupsUntil: signedIn.until,
    }
  }

  return byPassword
}

const isAccounts = (local: Outcome | readonly DirectoryAccount[]): local is readonly DirectoryAccount[] =>
  Array.isArray(local)

const isBasic = /^basic /i

/** `name`, `name@domain` or `DOMAIN\name`, and a password that may hold anything. */
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
