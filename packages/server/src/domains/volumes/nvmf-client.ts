/** NVMe-TCP clients, and the targets that each sees. Source: behaviour volumes-storage.md 1.6. */

import { NvmfClient, nvmfClientOperations } from '@hyperplane/contract/volumes/nvmf-client'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { matchesScope } from '../../core/access/scope.ts'
import { attachmentsWith, type NvmfEntity } from '../block-volumes/attachments.ts'
import { clusterProjections } from '../block-volumes/groups.ts'
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
  { expand }: { readonly expand: ReadonlySet<string> },
): Promise<readonly NvmfEntity[]> {
  const ids = clients.map(({ extId }) => extId)
  const attachments = await attachmentsWith(ctx.store, 'nvmfClientExtId', ids)
  const references = clients.map(({ clusterReference }) => clusterReference)
  const clusters = expand.has('cluster') ? await clusterProjections(ctx, references) : undefined
  const scope = await ctx.scopeOf(VolumeGroup.kind)
  const shown: NvmfEntity[] = []
  for (const client of clients) {
    const groupIds = (attachments.get(client.extId) ?? []).map(({ volumeGroupExtId }) => volumeGroupExtId as string)
    const groups = (await ctx.store.getMany(VolumeGroup, groupIds)).filter((group) => matchesScope(scope, group))
    const targets = groups.flatMap(({ targetName }) => targetName ?? [])
    shown.push({
      ...client,
      ...(targets.length === 0 ? {} : { attachedTargets: targets }),
      ...clusters?.get(client.clusterReference as string),
    })
  }
  return shown
}
