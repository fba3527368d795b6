/** Turns a credential of any type into a caller, and caches it. Source: behaviour conventions 14; iam.md 1, 2. */

import type { User } from '@hyperplane/contract/iam/user'
import type { Audit } from '../../../core/access/audit.ts'
import type { FailedSignIns } from '../../../core/access/failed-sign-ins.ts'
import type { Caller } from '../../../core/caller.ts'
import { type Clock, parseTime } from '../../../core/time/clock.ts'
import type { World } from '../../../core/world.ts'
import type { Directory } from '../../../drivers/directory.ts'
import type { Store, Transaction } from '../../../store/store.ts'
import type { CertificateTrust } from '../certificates/trust.ts'
import { CredentialCache, type KnownCredential } from '../credential-cache.ts'
import { DirectorySignIn } from '../directory/sign-in.ts'
import { SignIns } from '../sign-ins.ts'

export interface AuthenticatorOptions {
  readonly store: Store
  readonly clock: Clock
  readonly real: Clock
  readonly world: Pick<World<unknown>, 'ids' | 'secrets' | 'services' | 'tenantId'>
  readonly directory: Directory
  readonly certificates: CertificateTrust
  readonly audit: Audit
  readonly lockout: 'on' | 'off'
  /** Limits source addresses over all worlds of the process. */
  readonly failures: FailedSignIns
}

export interface Desk extends AuthenticatorOptions {
  readonly cache: CredentialCache
  readonly signIns: SignIns
  readonly directories: DirectorySignIn
  callerOf(
    user: User,
    how: Pick<Caller, 'credential' | 'credentialId' | 'mustChangePassword' | 'readsOnlyTask'>,
    groups?: readonly string[],
  ): Caller
  note(credential: KnownCredential, write: (transaction: Transaction, time: string) => Promise<unknown>): void
}

export type Outcome = KnownCredential | 'refused' | 'unavailable'

/** `lastLoginTime` and `lastUsedTime` are updated at most once a minute. */
const usageUpdateMillis = 60_000

export function createDesk(options: AuthenticatorOptions): Desk {
  const { store, clock, failures, world } = options
  return {
    ...options,
    cache: new CredentialCache(() => clock.now()),
    signIns: new SignIns({ store, clock, failures, enabled: options.lockout === 'on' }),
    directories: new DirectorySignIn(options),
    callerOf: (user, how, groups = []) => ({
      extId: user.extId,
      name: user.username,
      type: user.userType as Caller['type'],
      groups,
      tenantId: user.tenantId ?? world.tenantId,
      ...how,
    }),
    note(credential, write) {
      const now = clock.now()
      if (now - credential.notedAt < usageUpdateMillis) return
      credential.notedAt = now
      const time = clock.iso()
      store.transaction(async (transaction) => void (await write(transaction, time))).catch(() => undefined)
    },
  }
}

export function callerFrom(credential: KnownCredential, address: string): Caller {
  if (credential.latest?.address !== address) credential.latest = { ...credential.caller, address }
  return credential.latest
}

export const millisecondsOf = (time: string | undefined): number =>
  time === undefined ? -Infinity : (parseTime(time) ?? -Infinity)
