/** Domain managers; size and version of this one are not stored. Source: behaviour platform.md 4. */
import { DomainManager, domainManagerOperations } from '@hyperplane/contract/platform/domain-manager'
import { implement, type ReadContext } from '../context.ts'
import { createDomainManager } from './deploy.ts'
import { createNodes, fetchSoftware } from './deploy-parts.ts'
import { deployManager } from './deploy-task.ts'
import { describeOwn, resourcesBeyondSize, sizeOfTier } from './manager-size.ts'
import type { Manager } from './own-manager.ts'
import { register } from './register.ts'
import { registerRemote } from './register-task.ts'
import { unregister, unregisterRemote } from './unregister.ts'

export const domainManager = implement(
  domainManagerOperations,
  {
    createDomainManager: (ctx, { body }) => createDomainManager(ctx, body),
    register: (ctx, { body }) => register(ctx, body),
    unregister: (ctx, { body }) => unregister(ctx, body),
  },
  {
    tasks: [createNodes, deployManager, fetchSoftware, registerRemote, unregisterRemote],
    present: [[DomainManager, presentManagers]],
  },
)

async function presentManagers(ctx: ReadContext, managers: readonly Manager[]): Promise<readonly Manager[]> {
  const { tier, version } = ctx.services
  const extra = await resourcesBeyondSize(ctx.store)
  return managers.map((manager) =>
    manager.isOwn === true ? describeOwn(manager, sizeOfTier[tier], version, extra) : manager,
  )
}
