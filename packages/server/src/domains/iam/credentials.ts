/**
 * Who is it? An API key, else HTTP Basic. Whatever is wrong with a credential, the answer is the same, after the same work.
 * Source: behaviour conventions 14; iam.md 1, 2.
 */
import { createHash } from 'node:crypto'
import type { EntityOf } from '@hyperplane/contract'
import { Key } from '@hyperplane/contract/iam/key'
import { User } from '@hyperplane/contract/iam/user'
import { ApiError } from '../../core/api-error.ts'
import type { Audit } from '../../core/audit.ts'
import { type Clock, parseTime } from '../../core/clock.ts'
import type { Caller, World } from '../../core/context.ts'
import { dummyVerify, verifyPassword } from '../../core/passwords.ts'
import type { Authenticator } from '../../core/ports.ts'
import type { Store, Transaction } from '../../store/store.ts'
import { localProviderId } from './catalogue/name-id.ts'
import { CredentialCache, type KnownCredential } from './credential-cache.ts'
import { SignIns } from './sign-ins.ts'

export interface AuthenticatorOptions {
  readonly store: Store
  /** Expiry, locks, times of use. */
  readonly clock: Clock
  /** How long a credential is remembered, and delays. */
  readonly real: Clock
  readonly world: Pick<World<unknown>, 'tenantId'>
  readonly audit: Audit
  readonly lockout: 'on' | 'off'
}

/** `lastLoginTime` and `lastUsedTime` move no more often. */
const noteEvery = 60_000
/** Answers for a name that is being tried from everywhere come no sooner. */
const attackDelay = 1000

/** Longer ones cannot be stored. */
const maximumName = 255

interface BasicCredential {
  /** In lower case. */
  readonly name: string
  readonly password: string
}

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { store, clock, real, audit } = options
  const known = new CredentialCache(() => real.now())
  const signIns = new SignIns({ store, clock, real, enabled: options.lockout === 'on' })
  /** Attempts under way, by credential and address: the same one at once costs one hash. */
  const attempts = new Map<string, Promise<KnownCredential | undefined>>()
  /** The last attempt of each pair of name and address: they run one after another, so that no five turn into fifty. */
  const queues = new Map<string, Promise<unknown>>()

  async function byKey(header: string, address: string): Promise<Caller> {
    signIns.admit(address)
    // `<key>` or `<prefix> <key>`.
    const text = header.trim().split(/\s+/).at(-1) as string
    const digest = known.digestOf('apiKey', text)
    let credential = known.get(digest)
    if (credential === undefined) {
      const key = await store.findOne(Key, { apiKeyDigest: apiKeyDigest(text) })
      const state = known.stateOf(key?.userExtId ?? '')
      const user = key === undefined ? undefined : await store.get(User, key.userExtId as string)
      // Read again after the state was taken: a revocation in between is seen by one or the other.
      const valid = key === undefined ? undefined : await store.get(Key, key.extId)
      if (valid?.status === 'VALID' && user?.status === 'ACTIVE') {
        credential = {
          caller: callerOf(user, { credential: 'apiKey', credentialId: valid.extId }),
          endsAt: valid.expiryTime === undefined ? Infinity : (parseTime(valid.expiryTime) as number),
          notedAt: timeOf(valid.lastUsedTime),
        }
        known.remember(digest, credential, state)
      }
    }
    if (credential === undefined || credential.endsAt <= clock.now()) {
      signIns.failFrom(address)
      throw new ApiError('AUTHENTICATION_REQUIRED')
    }
    const keyExtId = credential.caller.credentialId as string
    note(credential, (transaction, time) => transaction.observe(Key, keyExtId, { lastUsedTime: time }))
    return { ...credential.caller, address }
  }

  async function byPassword(header: string, address: string): Promise<Caller> {
    signIns.admit(address)
    await signIns.load()
    const digest = known.digestOf('basic', header.slice(header.indexOf(' ') + 1).trim())
    // What was verified is well-formed, and its user has the name that was given.
    const remembered = isBasic.test(header) ? known.get(digest) : undefined
    const isUsable = remembered !== undefined && !signIns.isLocked(remembered.caller.name, address)
    const credential = isUsable ? remembered : await firstUse(header, digest, address)
    const { extId } = credential.caller
    note(credential, (transaction, time) => transaction.observe(User, extId, { lastLoginTime: time }))
    return { ...credential.caller, address }
  }

  async function firstUse(header: string, digest: string, address: string): Promise<KnownCredential> {
    const given = readBasic(header)
    if (given === undefined) {
      signIns.failFrom(address)
      throw new ApiError('AUTHENTICATION_REQUIRED')
    }
    const credential = await attempt(given, digest, address)
    if (credential === undefined) {
      await signIns.fail(given.name, address)
      throw new ApiError('AUTHENTICATION_REQUIRED')
    }
    return credential
  }

  function attempt(given: BasicCredential, digest: string, address: string): Promise<KnownCredential | undefined> {
    const same = `${digest} ${address}`
    const running = attempts.get(same)
    if (running !== undefined) return running
    const pair = `${given.name}\0${address}`
    const before = queues.get(pair) ?? Promise.resolve()
    const result = signIns.attempt(address, async () => {
      await before.catch(() => undefined)
      return verify(given, digest, address)
    })
    attempts.set(same, result)
    queues.set(pair, result)
    const tidy = (): void => {
      attempts.delete(same)
      if (queues.get(pair) === result) queues.delete(pair)
    }
    result.then(tidy, tidy)
    return result
  }

  async function verify(given: BasicCredential, digest: string, address: string): Promise<KnownCredential | undefined> {
    const isUnderAttack = signIns.isUnderAttack(given.name)
    const began = real.now()
    const user = await store.findOne(User, { idpId: localProviderId, username: given.name })
    const state = known.stateOf(user?.extId ?? '')
    const current = user === undefined ? undefined : await store.get(User, user.extId)
    const hash =
      current?.userType === 'LOCAL' && !signIns.isLocked(given.name, address) ? current.passwordHash : undefined
    // The same work for a name that does not exist, a service account and a locked pair.
    const matches =
      hash === undefined || given.password === ''
        ? await dummyVerify(given.password)
        : await verifyPassword(given.password, hash)
    const accepted = matches && current?.status === 'ACTIVE' ? current : undefined
    if (isUnderAttack) {
      await audit.writeAlone({
        credential: 'basic',
        address,
        operation: 'iam.signInAlarm',
        target: given.name,
        status: accepted === undefined ? 401 : 200,
      })
      const left = attackDelay - (real.now() - began)
      if (left > 0) await real.sleep(left)
    }
    if (accepted === undefined) return undefined
    const mustChange = accepted.isForceResetPasswordEnabled === true ? { mustChangePassword: true } : {}
    const credential: KnownCredential = {
      caller: callerOf(accepted, { credential: 'basic', ...mustChange }),
      endsAt: Infinity,
      notedAt: timeOf(accepted.lastLoginTime),
    }
    known.remember(digest, credential, state)
    return credential
  }

  const callerOf = (
    user: EntityOf<typeof User>,
    how: Pick<Caller, 'credential' | 'credentialId' | 'mustChangePassword'>,
  ): Caller => ({
    extId: user.extId,
    name: user.username,
    type: user.userType as Caller['type'],
    // Groups are had by users of directories and of SAML providers, which sign in by other means.
    groups: [],
    tenantId: user.tenantId ?? options.world.tenantId,
    ...how,
  })

  /** Writes a time of use beside the request, which does not wait for it. */
  function note(
    credential: KnownCredential,
    write: (transaction: Transaction, time: string) => Promise<unknown>,
  ): void {
    const now = clock.now()
    if (now - credential.notedAt < noteEvery) return
    credential.notedAt = now
    const time = clock.iso()
    // A key that was removed meanwhile, or a service that is closing: there is nothing to note.
    store.transaction(async (transaction) => void (await write(transaction, time))).catch(() => undefined)
  }

  return {
    async authenticate({ authorization, apiKey, address, basicOnly }) {
      if (apiKey !== undefined && apiKey.trim() !== '' && !basicOnly) return byKey(apiKey, address)
      if (authorization === undefined) throw new ApiError('AUTHENTICATION_REQUIRED')
      return byPassword(authorization, address)
    },
    forget: (identity) => known.forget(identity),
    countFailure(name, address) {
      void signIns.fail(name.toLowerCase(), address).catch(() => undefined)
    },
    unlock: (name) => signIns.unlock(name.toLowerCase()),
  }
}

/** What of an API key is kept: enough to know it again, and no more. */
export const apiKeyDigest = (apiKey: string): string => createHash('sha256').update(apiKey).digest('hex')

const timeOf = (time: string | undefined): number => (time === undefined ? -Infinity : (parseTime(time) ?? -Infinity))

const isBasic = /^basic /i

/** `name`, `name@domain` and `DOMAIN\name` all name a user by the whole text as long as there are no directories. */
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
