/** Refuses to remove the last active Super Admin. Source: behaviour iam.md 1, 9 (IAM-20018). */
import { AuthorizationPolicy } from '@hyperplane/contract/iam/authorization-policy'
import { User } from '@hyperplane/contract/iam/user'
import { ApiError } from '../../core/api-error.ts'
import { pathOf } from '../../core/standard.ts'
import { and, anyOf, equals } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'
import { superAdminId } from './catalogue/system-roles.ts'
import { coversEverything } from './filters/entity-filter.ts'
import { matchesIdentity, namedIn } from './filters/identity-filter.ts'
import { entityFiltersOf, identityFiltersOf, userFacts } from './grants.ts'

/** Call it after the change, in its transaction. `leaver` is about to become INACTIVE. @throws ApiError 409 */
export async function requireSuperAdmin(store: Reader, leaver?: string): Promise<void> {
  const policies = (await store.findWhere(AuthorizationPolicy, { role: superAdminId })).filter((policy) =>
    entityFiltersOf(policy).some(coversEverything),
  )
  const filters = policies.flatMap(identityFiltersOf)
  const isSuperAdmin = (user: Parameters<typeof userFacts>[0]): boolean =>
    user.extId !== leaver && filters.some((filter) => matchesIdentity(filter, userFacts(user)))
  // Almost every policy names users by id: scan all users only if none of these qualifies.
  const named = await store.getMany(User, [...new Set(filters.flatMap((filter) => namedIn(filter).users))])
  if (named.some((user) => user.status === 'ACTIVE' && signsInHere.includes(user.userType) && isSuperAdmin(user)))
    return
  const active = await store.find(User, {
    filter: and(equals(pathOf(User, 'status'), 'ACTIVE'), anyOf(pathOf(User, 'userType'), signsInHere)),
  })
  if (!active.some(isSuperAdmin)) throw new ApiError('LAST_SUPER_ADMIN')
}

/** External users do not count: their directory or provider may be down. */
const signsInHere: readonly string[] = ['LOCAL', 'SERVICE_ACCOUNT']
