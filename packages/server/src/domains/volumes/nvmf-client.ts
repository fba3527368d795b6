/** Source: behaviour volumes-storage.md 1.6. */

import { NvmfClient, nvmfClientOperations } from '@hyperplane/contract/volumes/nvmf-client'
import { groupsOfClients, type NvmfEntity } from '../block-volumes/attachments.ts'
import { withCluster } from '../block-volumes/groups.ts'
import { implement, type ReadContext } from '../context.ts'
import { attachNvmf, detachNvmf, nvmfAttachmentTasks } from './nvmf-attachment.ts'

export const nvmfClient = implement(
  nvmfClientOperations,
  {
    attachNvmfClient: (ctx, { body }) => attachNvmf(ctx, ctx.target, body),
    detachNvmfClient: (ctx, { body }) => detachNvmf(ctx, ctx.target, body),
  },
  { tasks: nvmfAttachmentTasks, present: [[NvmfClient, presentClients]] },
)

async function presentClients(
  ctx: ReadContext,
  clients: readonly NvmfEntity[],
  options: { readonly expand: ReadonlySet<string> },
): Promise<readonly NvmfEntity[]> {
  const groups = await groupsOfClients(ctx, 'nvmfClientExtId', clients)
  const shown = clients.map((client, index) => {
    const attachedTargets = groups[index]!.flatMap(({ targetName }) => targetName ?? [])
    return { ...client, ...(attachedTargets.length > 0 && { attachedTargets }) }
  })
  return withCluster(ctx, shown, options)
}
