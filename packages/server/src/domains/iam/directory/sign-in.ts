/** Sign-in through a directory: checks the account there, and returns or creates its user. */

import { DirectoryService } from '@hyperplane/contract/iam/directory-service'
import { User } from '@hyperplane/contract/iam/user'
import { pathOf } from '../../../core/standard.ts'
import type { Clock } from '../../../core/time/clock.ts'
import type { World } from '../../../core/world.ts'
import { type Directory, DirectoryError, type DirectoryServer, type DirectoryUser } from '../../../drivers/directory.ts'
import { and, equals, type TypedFilter } from '../../../odata/index.ts'
import { type Store, UniqueViolation } from '../../../store/store.ts'
import { limit, limitOf } from '../../limits.ts'
import { namedIn } from '../filters/identity-filter.ts'
import { loadGrants } from '../grants.ts'
import { isAdmitted, type Membership, Memberships, userGroupIds } from './memberships.ts'
import { type DirectoryRow, serverOf } from './server.ts'

/** Users of all providers together, including those that a first sign-in creates. Source: behaviour iam.md 3. */
export const maximumUsers = limit('users', 10_000)

export interface DirectorySignInOptions {
  readonly store: Store
  readonly clock: Clock
  readonly directory: Directory
  readonly world: Pick<World<unknown>, 'ids' | 'secrets' | 'services' | 'tenantId'>
}

export interface DirectoryAccount {
  readonly directory: DirectoryRow
  readonly name: string
  readonly extId: string
  readonly isKnown: boolean
}

export interface SignedIn {
  readonly user: User
  readonly groups: readonly string[]
  readonly until: number
}

/** Not allowed in user names: a directory account with such a name cannot sign in. */
const unusable = /[<>;'()&+%/\\"`]/

export class DirectorySignIn {
  readonly #options: DirectorySignInOptions
  readonly #memberships: Memberships

  constructor(options: DirectorySignInOptions) {
    this.#options = options
    this.#memberships = new Memberships(options.directory, options.clock)
  }

  /** `DOMAIN\name` becomes `name@domain`, so that failed sign-ins count for one name. */
  async canonical(name: string): Promise<string> {
    const { domain, account, isShort } = partsOf(name)
    if (domain === undefined || !isShort) return name
    const [directory, ...others] = await this.#ofDomain(domain, isShort)
    return directory === undefined || others.length > 0 ? name : `${account}@${directory.domainName.toLowerCase()}`
  }

  /** Without a domain, only existing users; with a domain, also an account that has no user yet. */
  async accountsOf(name: string): Promise<readonly DirectoryAccount[]> {
    const { store, world } = this.#options
    const { domain, account, isShort } = partsOf(name)
    if (unusable.test(account)) return []
    const directories =
      domain === undefined ? await store.find(DirectoryService) : await this.#ofDomain(domain, isShort)
    const accounts: DirectoryAccount[] = []
    for (const directory of directories) {
      const user = await this.#userNamed(directory, account)
      if (user !== undefined) accounts.push({ directory, name: account, extId: user.extId, isKnown: true })
      else if (domain !== undefined)
        accounts.push({ directory, name: account, extId: world.ids.uuid(), isKnown: false })
    }
    return accounts
  }

  /** @returns undefined for a wrong password or no access. @throws DirectoryError if the directory does not answer */
  async signIn(account: DirectoryAccount, password: string): Promise<SignedIn | undefined> {
    const { store, directory } = this.#options
    const row = account.directory
    const existing = account.isKnown ? await store.get(User, account.extId) : undefined
    // Otherwise an inactive user here could be used to test passwords in the directory.
    if (password === '' || (account.isKnown && existing?.status !== 'ACTIVE')) return undefined
    const server = serverOf(this.#options.world.secrets, row)
    const found = await ownFault(() => directory.findUser(server, account.name))
    if (found === undefined || found.isDisabled || unusable.test(found.name)) return undefined
    try {
      await directory.bind(server, { username: found.distinguishedName, password })
    } catch (error) {
      if (error instanceof DirectoryError && error.fault === 'credentials') return undefined
      throw error
    }
    return this.#admit(account, server, found)
  }

  async accountIn(directoryExtId: string, name: string): Promise<DirectoryAccount | undefined> {
    const { store, world } = this.#options
    const directory = await store.get(DirectoryService, directoryExtId)
    if (directory === undefined) return undefined
    const account = bareName(directory, name)
    const user = unusable.test(account) ? undefined : await this.#userNamed(directory, account)
    return { directory, name: account, extId: user?.extId ?? world.ids.uuid(), isKnown: user !== undefined }
  }

  /** For an identity proved by certificate. `unknown`: no such account. @throws DirectoryError if there is no answer */
  async confirmAccount(account: DirectoryAccount): Promise<SignedIn | 'unknown' | 'refused'> {
    const { store, directory, world } = this.#options
    const server = serverOf(world.secrets, account.directory)
    const found = await ownFault(() => directory.findUser(server, account.name))
    if (found === undefined) return 'unknown'
    const existing = account.isKnown ? await store.get(User, account.extId) : undefined
    const isClosed = found.isDisabled || unusable.test(found.name) || (account.isKnown && existing?.status !== 'ACTIVE')
    return isClosed ? 'refused' : ((await this.#admit(account, server, found)) ?? 'refused')
  }

  async #admit(
    account: DirectoryAccount,
    server: DirectoryServer,
    found: DirectoryUser,
  ): Promise<SignedIn | undefined> {
    const { store } = this.#options
    const row = account.directory
    const membership = await this.#membershipOf(row, server, account.name, found)
    if (!isAdmitted(row, membership)) return undefined
    const groups = await userGroupIds(store, row, membership)
    // The user may have changed while the directory was queried.
    const user = account.isKnown
      ? await store.get(User, account.extId)
      : // The directory may know a person by two names, and the user may have the other one.
        ((await this.#userFound(row, found)) ?? (await this.#firstSignIn(account, found, membership, groups)))
    return user?.status === 'ACTIVE' ? { user, groups, until: membership.until } : undefined
  }

  /** For an API key. During an outage of the directory: no groups for a minute. Undefined: account unknown, closed or not admitted. */
  async groupsOf(user: User): Promise<Omit<SignedIn, 'user'> | undefined> {
    const { store, directory, clock, world } = this.#options
    const row = await store.get(DirectoryService, user.idpId ?? '')
    if (row === undefined) return undefined
    const name = bareName(row, user.username)
    try {
      let membership = this.#memberships.remembered(row, name)
      if (membership === undefined) {
        const server = serverOf(world.secrets, row)
        const found = await directory.findUser(server, name)
        if (found === undefined || found.isDisabled) return undefined
        membership = await this.#membershipOf(row, server, name, found)
      }
      if (!isAdmitted(row, membership)) return undefined
      return { groups: await userGroupIds(store, row, membership), until: membership.until }
    } catch (error) {
      if (!(error instanceof DirectoryError)) throw error
      return { groups: [], until: clock.now() + 60_000 }
    }
  }

  forget(directoryExtId: string): void {
    this.#memberships.forget(directoryExtId)
  }

  #membershipOf(row: DirectoryRow, server: DirectoryServer, name: string, found: DirectoryUser): Promise<Membership> {
    return ownFault(() => this.#memberships.of(row, server, name, found))
  }

  /** `isShort`: the first label of the domain is enough (`EXAMPLE` for `example.com`). */
  async #ofDomain(domain: string, isShort: boolean): Promise<DirectoryRow[]> {
    const all = await this.#options.store.find(DirectoryService)
    const exact = all.filter((row) => row.domainName.toLowerCase() === domain)
    if (exact.length > 0 || !isShort) return exact
    return all.filter((row) => row.domainName.toLowerCase().split('.')[0] === domain)
  }

  #userFound(row: DirectoryRow, found: DirectoryUser): Promise<User | undefined> {
    return this.#userNamed(row, found.name.normalize('NFC').toLowerCase())
  }

  /** User names are stored with or without the domain. */
  async #userNamed(row: DirectoryRow, name: string): Promise<User | undefined> {
    const { store } = this.#options
    for (const form of [name, `${name}@${row.domainName.toLowerCase()}`]) {
      const [user] = await store.find(User, { filter: and(ofProvider(row.extId), hasName(form)), limit: 1 })
      if (user !== undefined) return user
    }
    return undefined
  }

  async #firstSignIn(
    { directory, extId }: DirectoryAccount,
    found: DirectoryUser,
    membership: Membership,
    groups: readonly string[],
  ): Promise<User | undefined> {
    const { store, clock, world } = this.#options
    if (!(await isNamedByPolicy(store, groups))) return undefined
    const now = clock.iso()
    try {
      return await store.transaction(async (transaction) => {
        // The directory service may have changed while the directory was queried.
        const current = await transaction.get(DirectoryService, directory.extId)
        if (current === undefined || !isAdmitted(current, membership))
          throw new DirectoryError('busy', 'its directory service was changed during the sign-in')
        if ((await transaction.count(User)) >= limitOf(world, maximumUsers))
          throw new DirectoryError('busy', 'there is no room for another user')
        return transaction.insert(User, {
          extId,
          tenantId: world.tenantId,
          userType: 'LDAP',
          idpId: directory.extId,
          username: found.name,
          displayName: usableName(found.displayName ?? found.name),
          locale: 'en-US',
          region: 'en-US',
          isForceResetPasswordEnabled: false,
          status: 'ACTIVE',
          creationType: 'SERVICEDEFINED',
          createdBy: systemId,
          createdTime: now,
          lastUpdatedBy: systemId,
          lastUpdatedTime: now,
        })
      })
    } catch (error) {
      // A concurrent first sign-in of the same person created the user.
      if (!(error instanceof UniqueViolation)) throw error
      return this.#userFound(directory, found)
    }
  }
}

const systemId = '00000000-0000-0000-0000-000000000000'

export const usableName = (text: string): string => text.replace(new RegExp(unusable, 'g'), ' ').slice(0, 255)

interface NameParts {
  readonly domain?: string
  readonly account: string
  readonly isShort: boolean
}

function partsOf(name: string): NameParts {
  const slash = name.indexOf('\\')
  if (slash >= 0) return { domain: name.slice(0, slash), account: name.slice(slash + 1), isShort: true }
  const at = name.lastIndexOf('@')
  if (at < 0) return { account: name, isShort: false }
  return { domain: name.slice(at + 1), account: name.slice(0, at), isShort: false }
}

export function bareName(row: DirectoryRow, username: string): string {
  const suffix = `@${row.domainName.toLowerCase()}`
  const name = username.toLowerCase()
  return name.endsWith(suffix) ? name.slice(0, -suffix.length) : name
}

/** A directory that refuses our service account has not refused the user: report an outage instead. */
async function ownFault<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question()
  } catch (error) {
    if (!(error instanceof DirectoryError) || error.fault !== 'credentials') throw error
    throw new DirectoryError('protocol', 'it refused the service account', { cause: error })
  }
}

async function isNamedByPolicy(store: Store, groups: readonly string[]): Promise<boolean> {
  if (groups.length === 0) return false
  const named = (await loadGrants(store)).flatMap((grant) => grant.identities.flatMap((one) => namedIn(one).groups))
  return groups.some((group) => named.includes(group))
}

const ofProvider = (extId: string): TypedFilter => equals(pathOf(User, 'idpId'), extId)

function hasName(name: string): TypedFilter {
  const { type } = pathOf(User, 'username')
  const field = { kind: 'field', from: 0, names: ['username'], type } as const
  return {
    kind: 'compare',
    operator: 'eq',
    left: { kind: 'call', function: 'tolower', argument: field },
    right: { kind: 'literal', value: name },
  }
}
