/** Finds the user of a trusted certificate: first in the provider's directory. Source: behaviour iam.md 5. */

import { User } from '@hyperplane/contract/iam/user'
import type { Store } from '../../../store/store.ts'
import { localProviderId } from '../../accounts/local-provider.ts'
import type { DirectoryAccount, DirectorySignIn, SignedIn } from '../directory/sign-in.ts'
import type { Certificate } from './certificate.ts'
import type { Trusted } from './trust.ts'

export interface CertifiedUser {
  readonly user: User
  readonly membership?: Pick<SignedIn, 'groups' | 'until'>
}

/** @throws DirectoryError if the directory does not answer */
export async function userOfCertificate(
  { provider, certificate }: Trusted,
  store: Store,
  directories: DirectorySignIn,
): Promise<CertifiedUser | undefined> {
  const name = nameIn(certificate)
  if (name === undefined) return undefined
  if (provider.dirSvcExtID !== undefined) {
    const account = await directories.accountIn(provider.dirSvcExtID, name)
    const vouched = account === undefined ? 'unknown' : await directories.confirmAccount(account)
    if (vouched !== 'unknown') return vouched === 'refused' ? undefined : withMembership(vouched)
  }
  const local = await store.findOne(User, { idpId: localProviderId, username: name })
  // Service accounts sign in with keys only.
  if (local !== undefined) return local.userType === 'LOCAL' ? { user: local } : undefined
  const [account, ...others] = (await directories.accountsOf(name)).filter(({ isKnown }) => isKnown)
  return account === undefined || others.length > 0 ? undefined : directoryUserOf(directories, account)
}

async function directoryUserOf(
  directories: DirectorySignIn,
  account: DirectoryAccount,
): Promise<CertifiedUser | undefined> {
  const vouched = await directories.confirmAccount(account)
  return vouched === 'unknown' || vouched === 'refused' ? undefined : withMembership(vouched)
}

const withMembership = ({ user, groups, until }: SignedIn): CertifiedUser => ({ user, membership: { groups, until } })

const maximumName = 255
/** Invisible characters (NUL, direction marks) make different names look alike. */
const invisible = /[\p{Cc}\p{Cf}]/u

/** Only the first kind of name counts. Two different names of it are refused: their order must not decide who signs in. */
function nameIn({ userPrincipalNames, emails, commonNames }: Certificate): string | undefined {
  const given = [userPrincipalNames, emails, commonNames].find((names) => names.length > 0) ?? []
  const [name, ...others] = new Set(given.map((one) => one.normalize('NFC').toLowerCase()))
  if (name === undefined || others.length > 0) return undefined
  return name === '' || name.length > maximumName || invisible.test(name) ? undefined : name
}
