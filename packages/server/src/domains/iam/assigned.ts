/** How many users and groups policies name. Source: behaviour iam.md 8, 9 (counts: distinct ids named and existing). */
import { AuthorizationPolicy } from '@hyperplane/contract/iam/authorization-policy'
import { User } from '@hyperplane/contract/iam/user'
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

/** Counts for each value of `by`, over the policies that have it. */
export async function assignedCounts(
  store: Reader,
  policies: readonly PolicyRow[],
  by: (policy: PolicyRow) => string,
): Promise<(value: string) => AssignedCounts> {
  const named = new Map<string, Set<string>>()
  for (const policy of policies) {
    const users = named.get(by(policy)) ?? new Set()
    named.set(by(policy), users)
    for (const filter of identityFiltersOf(policy)) for (const user of namedIn(filter).users) users.add(user)
  }
  const wanted = [...new Set([...named.values()].flatMap((users) => [...users]))]
  const existing = new Set((await store.getMany(User, wanted)).map((user) => user.extId))
  return (value) => ({
    assignedUsersCount: [...(named.get(value) ?? [])].filter((user) => existing.has(user)).length,
    // User groups are not built yet: an id that a policy names stands for nobody.
    assignedUserGroupsCount: 0,
  })
}
