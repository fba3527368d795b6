/** Hashes passwords before the transaction, which blocks all other writers; checked again inside it. */
import type { User } from '@hyperplane/contract/iam/user'
import type { Passwords } from '../../core/access/passwords.ts'
import { ApiError, refuseAll } from '../../core/api-error.ts'
import type { Clock } from '../../core/time/clock.ts'
import { brokenRules, isHighStrength, passwordHistoryLength, reusedRule } from './password-policy.ts'

export interface NewPassword {
  readonly broken: readonly string[]
  readonly hash?: string
  readonly isStrong?: boolean
  readonly replaces?: string
  readonly isOldRight?: boolean
}

export async function checkedPassword(
  passwords: Passwords,
  password: string,
  username: string,
  user?: User,
  old?: string,
): Promise<NewPassword> {
  const replaces = user?.passwordHash === undefined ? {} : { replaces: user.passwordHash }
  const isOldRight =
    old === undefined || user?.passwordHash === undefined ? undefined : await passwords.verify(old, user.passwordHash)
  const comparison = { ...replaces, ...(isOldRight === undefined ? {} : { isOldRight }) }
  if (isOldRight === false) return { broken: [], ...comparison }
  const broken = brokenRules(password, username, old)
  if (broken.length === 0 && (await isReused(passwords, password, user))) broken.push(reusedRule)
  if (broken.length > 0) return { broken, ...comparison }
  return { broken, hash: await passwords.hash(password), isStrong: isHighStrength(password), ...comparison }
}

async function isReused(passwords: Passwords, password: string, user: User | undefined): Promise<boolean> {
  const hashes = new Set([
    ...(user?.passwordHash === undefined ? [] : [user.passwordHash]),
    ...(user?.formerPasswordHashes ?? []),
  ])
  const matches = await Promise.all(
    [...hashes].slice(0, passwordHistoryLength).map((hash) => passwords.verify(password, hash)),
  )
  return matches.includes(true)
}

/** @throws ApiError 400 with every broken rule; 409 if the password changed since it was checked */
export function withPassword(
  user: Pick<User, 'passwordHash' | 'formerPasswordHashes'>,
  judged: NewPassword,
  clock: Pick<Clock, 'iso'>,
) {
  refuseAll(judged.broken.map((rule) => new ApiError('PASSWORD_POLICY_VIOLATED', { rule })))
  if (judged.hash === undefined || judged.replaces !== user.passwordHash) {
    throw new ApiError('CONFLICT', { fault: 'The password was changed by another request at the same time. Retry.' })
  }
  return {
    passwordHash: judged.hash,
    passwordChangedTime: clock.iso(),
    isPasswordStrong: judged.isStrong === true,
    formerPasswordHashes: [
      judged.hash,
      ...(user.formerPasswordHashes ?? (user.passwordHash === undefined ? [] : [user.passwordHash])),
    ].slice(0, passwordHistoryLength),
  }
}
