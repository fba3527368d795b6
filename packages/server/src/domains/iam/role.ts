/** Roles: sets of operations, defined by the system or by clients. Source: behaviour iam.md 8. */
import { iamMessages } from '@hyperplane/contract/iam/errors'
import { Role, roleOperations } from '@hyperplane/contract/iam/role'
import { matchesScope } from '../../core/access/scope.ts'
import { ApiError } from '../../core/api-error.ts'
import { created, replaced } from '../../core/updates.ts'
import { implement, type ReadContext } from '../context.ts'
import { limit, limitOf } from '../limits.ts'
import { assignedCounts, policiesWithRoles } from './assigned.ts'
import { authorship } from './authorship.ts'
import { clientNameOf } from './catalogue/clients.ts'
import { iamOperationById } from './catalogue/operations.ts'
import { requireRoleCovered } from './escalation.ts'
import { factsOf, grantOf, grantsTo, loadGrants } from './grants.ts'

const ownClientName = clientNameOf('platform')

const maximumRoles = limit('roles', 5000)

export const role = implement(
  roleOperations,
  {
    async getRoleById(ctx) {
      const scope = await ctx.scopeOf('Role')
      if (matchesScope(scope, ctx.target)) return ctx.target
      const held = grantsTo(await loadGrants(ctx.store), await factsOf(ctx.store, ctx.caller))
      if (held.some((grant) => grant.roleExtId === ctx.target.extId)) return ctx.target
      if (scope === 'none') throw new ApiError('ACCESS_DENIED', { operation: ctx.operation.iamOperation, reason: '' })
      throw new ApiError('AUTHORIZATION_ENTITY_NOT_FOUND', {
        kind: Role.title,
        id: ctx.target.extId,
        attribute: 'extId',
      })
    },

    async createRole(ctx, { body }) {
      await requireRoleCovered(ctx, body.operations)
      const maximum = limitOf(ctx, maximumRoles)
      const found = (await ctx.store.count(Role)) + 1
      if (found > maximum) throw new ApiError('LIMIT_EXCEEDED', { limit: 'roles', maximum, found })
      const role = created(ctx, Role, body, {
        clientName: body.clientName || ownClientName,
        isSystemDefined: false,
        operationSchemaChangeImpact: 'NOT_IMPACTED',
        ...authorship(ctx),
      })
      await ctx.store.insert(Role, role)
      return (await withDerived(ctx, [role]))[0] as Role
    },

    async updateRoleById(ctx, { body }) {
      const { target } = ctx
      refuseSystemDefined(target)
      const had = new Set(target.operations)
      // Holders receive the added operations on the entities of the policy that gives the role.
      await requireRoleCovered(
        ctx,
        body.operations.filter((id) => !had.has(id)),
        async (added) => (await policiesWithRoles(ctx.store, [target.extId])).map((policy) => grantOf(policy, added)),
      )
      await ctx.store.replace(Role, {
        ...replaced(Role, target, body, ctx.version),
        clientName: body.clientName || ownClientName,
        lastUpdatedTime: ctx.clock.iso(),
      })
      ctx.afterCommit(() => ctx.services.access.changed())
      return { ...iamMessages.ROLE_UPDATE_SUCCESS, severity: 'INFO' as const, locale: 'en_US' }
    },

    async deleteRoleById(ctx) {
      const { target } = ctx
      refuseSystemDefined(target)
      const count = (await ctx.store.referrerCounts('Role', target.extId)).get('AuthorizationPolicy') ?? 0
      if (count > 0) throw new ApiError('ROLE_IN_USE', { name: target.displayName, count })
      await ctx.store.remove(Role, target.extId)
      ctx.afterCommit(() => ctx.services.access.changed())
      return undefined
    },
  },
  {
    rules: {
      createRole: ({ body }) => operationFaults(body.operations),
      updateRoleById: ({ body }) => operationFaults(body.operations),
    },
    present: [[Role, withDerived]],
    limits: [maximumRoles],
  },
)

const operationFaults = (ids: readonly string[]): ApiError[] =>
  ids.flatMap((id, index) =>
    iamOperationById(id)?.operationType === 'EXTERNAL'
      ? []
      : [new ApiError('OPERATION_NOT_GRANTABLE', { attributePath: `operations[${index}]`, id })],
  )

function refuseSystemDefined(row: Role): void {
  if (row.isSystemDefined === true) throw new ApiError('SYSTEM_DEFINED_ENTITY', { kind: 'role', name: row.displayName })
}

async function withDerived(ctx: ReadContext, roles: readonly Role[]): Promise<readonly Role[]> {
  const policies = await policiesWithRoles(
    ctx.store,
    roles.map((one) => one.extId),
  )
  const counts = await assignedCounts(ctx.store, policies, (policy) => policy.role)
  return roles.map((one) => {
    const operations = one.operations.flatMap((id) => iamOperationById(id) ?? [])
    const clients = [...new Set(operations.map((operation) => operation.clientName))].sort()
    const entities = [...new Set(operations.map((operation) => operation.entityType))].sort()
    return {
      ...one,
      clientName: one.clientName || ownClientName,
      accessibleClients: clients,
      accessibleClientsCount: clients.length,
      accessibleEntityTypes: entities,
      accessibleEntityTypesCount: entities.length,
      ...counts(one.extId),
    }
  })
}
