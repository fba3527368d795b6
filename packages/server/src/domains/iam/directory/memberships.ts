/** Groups of directory users, cached for five minutes of world time at most. Source: behaviour iam.md 4. */
import { UserGroup } from '@hyperplane/contract/iam/user-group'
import { LRUCache } from 'lru-cache'
import type { Clock } from '../../../core/time/clock.ts'
import type { Directory, DirectoryServer, DirectoryUser } from '../../../drivers/directory.ts'
import type { Reader } from '../../../store/store.ts'
import { normalForm } from './distinguished-name.ts'
import type { DirectoryRow } from './server.ts'

export interface Membership {
  readonly distinguishedName: string
  readonly groups: ReadonlySet<string>
  readonly until: number
}

const cacheMilliseconds = 5 * 60_000
const maximumNames = 200_000

export class Memberships {
  readonly #directory: Directory
  readonly #clock: Pick<Clock, 'now'>
  readonly #cache = new LRUCache<string, Membership & { readonly directoryExtId: string }>({
    maxSize: maximumNames,
    sizeCalculation: ({ groups }) => groups.size + 1,
  })
  /** A query that began before a call of `forget` is not cached after it. */
  #forgotten = 0

  constructor(directory: Directory, clock: Pick<Clock, 'now'>) {
    this.#directory = directory
    this.#clock = clock
  }

  /** @param name as it was searched for: different people may have similar names. @throws DirectoryError */
  async of(row: DirectoryRow, server: DirectoryServer, name: string, user: DirectoryUser): Promise<Membership> {
    const { distinguishedName } = user
    const cached = this.remembered(row, name)
    if (cached?.distinguishedName === distinguishedName) return cached
    const requestTime = this.#clock.now()
    const before = this.#forgotten
    const names = await this.#directory.groupsOf(server, user, row.groupSearchType === 'RECURSIVE')
    const groups = new Set(names.flatMap((name) => normalForm(name) ?? []))
    const until = requestTime + cacheMilliseconds
    const membership = { distinguishedName, groups, until, directoryExtId: row.extId }
    if (before === this.#forgotten) this.#cache.set(keyOf(row, name), membership)
    return membership
  }

  remembered(row: DirectoryRow, name: string): Membership | undefined {
    const cached = this.#cache.get(keyOf(row, name))
    return cached !== undefined && cached.until > this.#clock.now() ? cached : undefined
  }

  forget(directoryExtId: string): void {
    this.#forgotten += 1
    for (const [key, membership] of this.#cache.entries())
      if (membership.directoryExtId === directoryExtId) this.#cache.delete(key)
  }
}

const keyOf = (row: DirectoryRow, name: string): string => `${row.extId}/${name.toLowerCase()}`

export const isAdmitted = ({ whiteListedGroups = [] }: DirectoryRow, { groups }: Membership): boolean =>
  whiteListedGroups.length === 0 ||
  whiteListedGroups.some((name) => {
    const form = normalForm(name)
    if (form !== undefined) return groups.has(form)
    const commonName = normalForm(`cn=${name.trim().replaceAll(/[,+"\\<>;=#]/g, '\\$&')}`)
    return commonName !== undefined && [...groups].some((group) => `${group},`.startsWith(`${commonName},`))
  })

export async function userGroupIds(
  store: Reader,
  row: Pick<DirectoryRow, 'extId'>,
  { groups }: Pick<Membership, 'groups'>,
): Promise<string[]> {
  const existing = await store.findWhere(UserGroup, { idpId: row.extId })
  // SAML groups may have the same name; directory users are never members of them.
  return existing
    .filter(({ groupType, identity }) => groupType === 'LDAP' && groups.has(identity ?? ''))
    .map(({ extId }) => extId)
}
