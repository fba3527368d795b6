/** Counts users and groups in policies. Source: behaviour iam.md 8, 9 (counts: distinct ids named and existing). */
import { AuthorizationPolicy } from '@hyperplane/contract/iam/authorization-policy'
import { User } from '@hyperplane/contract/iam/user'
import { UserGroup } from '@hyperplane/contract/iam/user-group'
import { pathOf } from '../../core/standard.ts'
import { anyOf } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'
import { namedIn } from './filters/identity-filter.ts'
import { identityFiltersOf, type PolicyRow } from './grants.ts'

export const policiesWithRoles = (store: Reader, roles: readonly string[]): Promise<PolicyRow[]> =>
  store.find(AuthorizationPolicy, { filter: anyOf(pathOf(AuthorizationPolicy, 'role'), roles) })

export interface AssignedCounts {
  readonly assignedUsersCount: number
  readonly assignedUserGroupsCount: number
}

export async function assignedCounts(
  store: Reader,
  policies: readonly PolicyRow[],
  by: (policy: PolicyRow) => string,
): Promise<(value: string) => AssignedCounts> {
  const named = new Map<string, { readonly users: Set<string>; readonly groups: Set<string> }>()
  for (const policy of policies) {
    const of = named.get(by(policy)) ?? { users: new Set(), groups: new Set() }
    named.set(by(policy), of)
    for (const { users, groups } of identityFiltersOf(policy).map(namedIn)) {
      for (const user of users) of.users.add(user)
      for (const group of groups) of.groups.add(group)
    }
  }
  const all = (of: 'users' | 'groups'): string[] => [...new Set([...named.values()].flatMap((one) => [...one[of]]))]
  const users = new Set((await store.getMany(User, all('users'))).map(({ extId }) => extId))
  const groups = new Set((await store.getMany(UserGroup, all('groups'))).map(({ extId }) => extId))
  return (value) => ({
    assignedUsersCount: [...(named.get(value)?.users ?? [])].filter((user) => users.has(user)).length,
    assignedUserGroupsCount: [...(named.get(value)?.groups ?? [])].filter((group) => groups.has(group)).length,
  })
}
