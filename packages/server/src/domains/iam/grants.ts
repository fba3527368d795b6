/** Policies with parsed filters and names of operations. Source: behaviour iam.md 8, 9; conventions 16. */

import { AuthorizationPolicy } from '@hyperplane/contract/iam/authorization-policy'
import { Role } from '@hyperplane/contract/iam/role'
import { User } from '@hyperplane/contract/iam/user'
import type { Caller } from '../../core/caller.ts'
import type { Reader } from '../../store/store.ts'
import { iamOperationById } from './catalogue/operations.ts'
import { coversEverything, type EntityFilter, readEntityFilter } from './filters/entity-filter.ts'
import {
  type IdentityFacts,
  type IdentityFilter,
  matchesIdentity,
  readIdentityFilter,
} from './filters/identity-filter.ts'

export type PolicyRow = AuthorizationPolicy

export interface Grant {
  readonly policyExtId: string
  readonly identities: readonly IdentityFilter[]
  readonly roleExtId: string
  readonly isSystemRole: boolean
  readonly operations: ReadonlySet<string>
  readonly entities: readonly EntityFilter[]
  /** As the client wrote them, in the order of `entities`. */
  readonly writtenEntities: readonly unknown[]
  readonly isUnlimited: boolean
}

export async function loadGrants(store: Reader): Promise<readonly Grant[]> {
  const policies = await store.find(AuthorizationPolicy)
  const roles = new Map((await store.find(Role)).map((role) => [role.extId, role]))
  const operationsOf = new Map<string, ReadonlySet<string>>()
  for (const role of roles.values()) operationsOf.set(role.extId, operationNames(role.operations))
  return policies.map((policy) => ({
    ...grantOf(policy, operationsOf.get(policy.role) ?? new Set()),
    isSystemRole: roles.get(policy.role)?.isSystemDefined === true,
  }))
}

/** @param operations replaces those of the role */
export function grantOf(
  policy: Pick<PolicyRow, 'role' | 'entities' | 'identities'> & { readonly extId?: string },
  operations: ReadonlySet<string>,
): Omit<Grant, 'isSystemRole'> {
  const entities = entityFiltersOf(policy)
  return {
    policyExtId: policy.extId ?? '',
    identities: identityFiltersOf(policy),
    roleExtId: policy.role,
    operations,
    entities,
    writtenEntities: policy.entities.map((element) => element.entityFilter),
    isUnlimited: entities.some(coversEverything),
  }
}

/** Ignores faults: filters were validated before they were stored. */
export const entityFiltersOf = (policy: Pick<PolicyRow, 'entities'>): EntityFilter[] =>
  policy.entities.map((element) => readEntityFilter(element.entityFilter, 'entityFilter'))
export const identityFiltersOf = (policy: Pick<PolicyRow, 'identities'>): IdentityFilter[] =>
  policy.identities.map((element) => readIdentityFilter(element.identityFilter, 'identityFilter'))

export const grantsTo = (grants: readonly Grant[], facts: IdentityFacts): readonly Grant[] =>
  grants.filter((grant) => grant.identities.some((filter) => matchesIdentity(filter, facts)))

export async function factsOf(store: Reader, caller: Caller): Promise<IdentityFacts> {
  const user = await store.get(User, caller.extId)
  return {
    ...userFacts(user ?? { extId: caller.extId, username: caller.name, userType: caller.type }),
    groups: new Set(caller.groups),
  }
}

export const userFacts = (user: {
  extId: string
  username: string
  userType: string
  idpId?: string
}): IdentityFacts => ({
  uuid: user.extId,
  username: user.username.toLowerCase(),
  idp: user.idpId ?? '',
  type: user.userType,
  groups: new Set(),
})

export const operationNames = (ids: readonly string[]): ReadonlySet<string> =>
  new Set(ids.flatMap((id) => iamOperationById(id)?.displayName ?? []))
