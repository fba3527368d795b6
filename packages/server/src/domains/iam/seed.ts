/** Users and policies of a new world. Source: behaviour iam.md 12. */
import { User } from '@hyperplane/contract/iam/user'
import type { SeedContext } from '../seed.ts'

/** What every world needs: an administrator. */
export async function seedBase(ctx: SeedContext): Promise<void> {
  await ctx.store.insert(User, {
    extId: ctx.adminId,
    tenantId: ctx.tenantId,
    username: 'admin',
    userType: 'LOCAL',
    status: 'ACTIVE',
    passwordHash: ctx.adminPasswordHash,
  } as never)
}
