/** What every kind of credential needs to become a caller, and to be remembered as one. Source: behaviour conventions 14; iam.md 1, 2. */

import type { EntityOf } from '@hyperplane/contract'
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
  /** Expiry, locks, times of use, how long a credential is remembered. */
  readonly clock: Clock
  /** Delays. */
  readonly real: Clock
  readonly world: Pick<World<unknown>, 'ids' | 'secrets' | 'services' | 'tenantId'>
  readonly directory: Directory
  readonly certificates: CertificateTrust
  readonly audit: Audit
  /** Of accounts of this world. */
  readonly lockout: 'on' | 'off'
  /** Of the process. */
  readonly failures: FailedSignIns
}

/** Where credentials of all kinds are judged. */
export interface Desk extends AuthenticatorOptions {
  readonly known: CredentialCache
  readonly signIns: SignIns
  readonly directories: DirectorySignIn
  callerOf(
    user: EntityOf<typeof User>,
    how: Pick<Caller, 'credential' | 'credentialId' | 'mustChangePassword'>,
    groups?: readonly string[],
  ): Caller
  /** Writes a time of use beside the request, which does not wait for it. */
  note(credential: KnownCredential, write: (transaction: Transaction, time: string) => Promise<unknown>): void
}

/** What came of an attempt. `unavailable`: whoever could tell was not to be asked. */
export type Outcome = KnownCredential | 'refused' | 'unavailable'

/** `lastLoginTime` and `lastUsedTime` move no more often. */
const noteEvery = 60_000

export function createDesk(options: AuthenticatorOptions): Desk {
  const { store, clock, failures, world } = options
  return {
    ...options,
    known: new CredentialCache(() => clock.now()),
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
      if (now - credential.notedAt < noteEvery) return
      credential.notedAt = now
      const time = clock.iso()
      // A key that was removed meanwhile, or a service that is closing: there is nothing to note.
      store.transaction(async (transaction) => void (await write(transaction, time))).catch(() => undefined)
    },
  }
}

/** Who has this credential, calling from there. */
export function callerFrom(credential: KnownCredential, address: string): Caller {
  if (credential.latest?.address !== address) credential.latest = { ...credential.caller, address }
  return credential.latest
}

/** As a number to compare with; what was never is before everything. */
export const timeOf = (time: string | undefined): number =>
  time === undefined ? -Infinity : (parseTime(time) ?? -Infinity)
