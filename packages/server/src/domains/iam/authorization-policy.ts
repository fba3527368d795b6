/** Authorization policies: identities hold a role on entities. Source: behaviour iam.md 9. */
import { AuthorizationPolicy, authorizationPolicyOperations } from '@hyperplane/contract/iam/authorization-policy'
import { iamMessages } from '@hyperplane/contract/iam/errors'
import { Role } from '@hyperplane/contract/iam/role'
import { ApiError, invalid } from '../../core/api-error.ts'
import { created, replaced } from '../../core/updates.ts'
import { implement, type ReadContext, type WriteContext } from '../context.ts'
import { assignedCounts } from './assigned.ts'
import { authorship } from './authorship.ts'
import { requireCovered } from './escalation.ts'
import { FilterReader } from './filters/conditions.ts'
import { readEntityFilter, unknownNames } from './filters/entity-filter.ts'
import { readIdentityFilter } from './filters/identity-filter.ts'
import { grantOf, operationNames, type PolicyRow } from './grants.ts'
import { requireSuperAdmin } from './super-admins.ts'

export const authorizationPolicy = implement(
  authorizationPolicyOperations,
  {
    async createAuthorizationPolicy(ctx, { body }) {
      warnOfUnknownNames(ctx, body)
      await requireGrantable(ctx, body)
      const policy = created(ctx, AuthorizationPolicy, body, {
        clientName: '',
        isSystemDefined: false,
        ...authorship(ctx),
      })
      await ctx.store.insert(AuthorizationPolicy, policy)
      ctx.afterCommit(() => ctx.services.access.changed())
      return (await withCounts(ctx, [policy]))[0] as PolicyRow
    },

    async updateAuthorizationPolicyById(ctx, { body }) {
      const { target } = ctx
      refuseFixed(target, body)
      warnOfUnknownNames(ctx, body)
      await requireGrantable(ctx, body)
      await ctx.store.replace(AuthorizationPolicy, {
        ...replaced(AuthorizationPolicy, target, body, ctx.version),
        lastUpdatedTime: ctx.clock.iso(),
      })
      await requireSuperAdmin(ctx.store)
      ctx.afterCommit(() => ctx.services.access.changed())
      return { ...iamMessages.AUTHORIZATION_POLICY_UPDATE_SUCCESS, severity: 'INFO' as const, locale: 'en_US' }
    },

    async deleteAuthorizationPolicyById(ctx) {
      const { target } = ctx
      if (target.authorizationPolicyType !== 'USER_DEFINED') throw fixed(target)
      await ctx.store.remove(AuthorizationPolicy, target.extId)
      await requireSuperAdmin(ctx.store)
      ctx.afterCommit(() => ctx.services.access.changed())
      return undefined
    },
  },
  {
    rules: {
      createAuthorizationPolicy: ({ body }) => [...typeFaults(body), ...filterFaults(body)],
      updateAuthorizationPolicyById: ({ body }) => filterFaults(body),
    },
    present: [[AuthorizationPolicy, withCounts]],
  },
)

type Filters = Pick<PolicyRow, 'entities' | 'identities'>

const typeFaults = ({ authorizationPolicyType: type }: Pick<PolicyRow, 'authorizationPolicyType'>): ApiError[] =>
  type === 'USER_DEFINED' ? [] : [invalid('authorizationPolicyType', 'a policy of a client is USER_DEFINED.')]

function filterFaults({ entities, identities }: Filters): ApiError[] {
  const faults: ApiError[] = []
  for (const [index, { identityFilter }] of identities.entries()) {
    const reader = new FilterReader(identityFilter)
    readIdentityFilter(identityFilter, `identities[${index}]/identityFilter`, reader)
    faults.push(...reader.faults)
  }
  for (const [index, { entityFilter }] of entities.entries()) {
    const reader = new FilterReader(entityFilter)
    readEntityFilter(entityFilter, `entities[${index}]/entityFilter`, reader)
    faults.push(...reader.faults)
  }
  return faults
}

/** Unknown names are accepted with a warning: clients know kinds and attributes that this service does not have. */
function warnOfUnknownNames(ctx: WriteContext, { entities }: Pick<PolicyRow, 'entities'>): void {
  const unknown = new Set(entities.flatMap(({ entityFilter }) => unknownNames(readEntityFilter(entityFilter, ''))))
  for (const name of unknown) ctx.warn(`The entity filter names ${name}, which is not known here: it matches nothing.`)
}

/** The whole policy, even if only identities changed: a new identity receives every right in it. */
async function requireGrantable(ctx: WriteContext, body: Omit<PolicyRow, 'extId'>): Promise<void> {
  const role = await ctx.store.get(Role, body.role)
  await requireCovered(ctx, grantOf(body, operationNames(role?.operations ?? [])))
}

const fixed = (policy: PolicyRow): ApiError =>
  new ApiError('SYSTEM_DEFINED_ENTITY', { kind: 'authorization policy', name: policy.displayName })

function refuseFixed(target: PolicyRow, body: Omit<PolicyRow, 'extId'>): void {
  if (target.authorizationPolicyType === 'USER_DEFINED') return
  if (target.authorizationPolicyType !== 'PREDEFINED_UPDATE_IDENTITY_ONLY') throw fixed(target)
  const others = (policy: Omit<PolicyRow, 'extId'>): string =>
    JSON.stringify([
      policy.displayName,
      policy.description ?? '',
      policy.role,
      policy.entities.map((element) => element.entityFilter),
    ])
  if (others(target) !== others(body)) throw fixed(target)
}

async function withCounts(ctx: ReadContext, policies: readonly PolicyRow[]): Promise<readonly PolicyRow[]> {
  const counts = await assignedCounts(ctx.store, policies, (policy) => policy.extId)
  return policies.map((policy) => ({ ...policy, ...counts(policy.extId) }))
}
