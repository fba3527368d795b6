/**
 * Nobody hands out more than they hold: neither by putting operations into a role nor by giving a role to somebody. Those
 * who administer everything are excepted; Internal Super Admin is given by a Super Admin only. Source: behaviour iam.md 8.
 */
import { ApiError } from '../../core/api-error.ts'
import type { WriteContext } from '../context.ts'
import { iamOperationById } from './catalogue/operations.ts'
import { superAdminId, systemRoleId } from './catalogue/system-roles.ts'
import type { IdentityFacts } from './filters/identity-filter.ts'
import { factsOf, grantsTo, loadGrants, userFacts } from './grants.ts'

const excepted = [superAdminId, systemRoleId('Platform Admin'), systemRoleId('Central Admin')]

/** @throws ApiError 403 @param operations ids of IAM operations that the change newly permits to somebody */
export async function requireHolding(ctx: WriteContext, operations: readonly string[], role?: string): Promise<void> {
  const grants = grantsTo(await loadGrants(ctx.store), await factsOf(ctx.store, ctx.caller))
  const administers = (roles: readonly string[]): boolean =>
    grants.some((grant) => grant.isUnlimited && roles.includes(grant.roleExtId))
  if (role === systemRoleId('Internal Super Admin') && !administers([superAdminId])) {
    throw new ApiError('ACCESS_DENIED', {
      operation: ctx.operation.iamOperation,
      reason: ': only a Super Admin gives the role Internal Super Admin',
    })
  }
  if (administers(excepted)) return
  const missing = operations
    .map((id) => iamOperationById(id)?.displayName ?? id)
    .filter((name) => !grants.some((grant) => grant.operations.has(name)))
  if (missing.length === 0) return
  const shown = missing.slice(0, 5).join(', ') + (missing.length > 5 ? ' and others' : '')
  throw new ApiError('ACCESS_DENIED', {
    operation: ctx.operation.iamOperation,
    reason: ` with operations that it does not hold itself: ${shown}`,
  })
}

/**
 * Who sets a password or makes a key of somebody can act as them: of those who administer everything only they may.
 * @throws ApiError 403
 */
export async function requireNoTakeover(
  ctx: WriteContext,
  user: { extId: string; username: string; userType: string; idpId?: string },
): Promise<void> {
  if (user.extId === ctx.caller.extId) return
  const grants = await loadGrants(ctx.store)
  const administers = (facts: IdentityFacts): boolean =>
    grantsTo(grants, facts).some((grant) => grant.isUnlimited && excepted.includes(grant.roleExtId))
  if (!administers(userFacts(user)) || administers(await factsOf(ctx.store, ctx.caller))) return
  throw new ApiError('ACCESS_DENIED', {
    operation: ctx.operation.iamOperation,
    reason: ` on "${user.username}", who administers everything`,
  })
}
