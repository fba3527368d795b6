/**
 * Who a trusted certificate is: its user principal name, else its e-mail address, else its common name, looked up in the
 * directory of its provider, else among users. Source: behaviour iam.md 5.
 */

import type { EntityOf } from '@hyperplane/contract'
import { User } from '@hyperplane/contract/iam/user'
import type { Store } from '../../../store/store.ts'
import { localProviderId } from '../../accounts/local-provider.ts'
import type { DirectoryAccount, DirectorySignIn, SignedIn } from '../directory/sign-in.ts'
import type { Certificate } from './certificate.ts'
import type { Trusted } from './trust.ts'

export interface CertifiedUser {
  readonly user: EntityOf<typeof User>
  /** What the directory said of somebody who belongs to one. */
  readonly membership?: Pick<SignedIn, 'groups' | 'until'>
}

/** @throws DirectoryError when the directory that must know cannot say */
export async function userOf(
  { provider, certificate }: Trusted,
  store: Store,
  directories: DirectorySignIn,
): Promise<CertifiedUser | undefined> {
  const name = nameIn(certificate)
  if (name === undefined) return undefined
  if (provider.dirSvcExtID !== undefined) {
    const account = await directories.accountIn(provider.dirSvcExtID, name)
    const vouched = account === undefined ? 'unknown' : await directories.vouch(account)
    // Whom the directory knows and does not let in is not looked for anywhere else.
    if (vouched !== 'unknown') return vouched === 'refused' ? undefined : withMembership(vouched)
  }
  const local = await store.findOne(User, { idpId: localProviderId, username: name })
  // A service account has keys alone.
  if (local !== undefined) return local.userType === 'LOCAL' ? { user: local } : undefined
  const [account, ...others] = (await directories.accountsOf(name)).filter(({ isKnown }) => isKnown)
  // One name of several people is nobody's.
  return account === undefined || others.length > 0 ? undefined : vouchedFor(directories, account)
}

async function vouchedFor(directories: DirectorySignIn, account: DirectoryAccount): Promise<CertifiedUser | undefined> {
  const vouched = await directories.vouch(account)
  return vouched === 'unknown' || vouched === 'refused' ? undefined : withMembership(vouched)
}

const withMembership = ({ user, groups, until }: SignedIn): CertifiedUser => ({ user, membership: { groups, until } })

/** Longer ones cannot be stored. */
const maximumName = 255
/** What nobody sees (NUL, marks of direction) makes two names look like one. */
const invisible = /[\p{Cc}\p{Cf}]/u

/**
 * In lower case, as names are compared. Only the first kind that stands there counts; two different names of it are
 * nobody's: which of them comes first must not decide who signs in.
 */
function nameIn({ userPrincipalNames, emails, commonNames }: Certificate): string | undefined {
  const given = [userPrincipalNames, emails, commonNames].find((names) => names.length > 0) ?? []
  const [name, ...others] = new Set(given.map((one) => one.normalize('NFC').toLowerCase()))
  if (name === undefined || others.length > 0) return undefined
  return name === '' || name.length > maximumName || invisible.test(name) ? undefined : name
}
