/** Shared by volumes and storage v4.0.a3. Source: behaviour volumes-storage.md 1.1, 1.2, 1.8. */

import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import type { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { matchesScope } from '../../core/access/scope.ts'
import { ApiError } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Reader } from '../../store/store.ts'
import type { ReadContext } from '../context.ts'
import { requireReachable } from '../registrations/reachability.ts'
import {
  type Attachment,
  attachmentsWith,
  consumerIdOf,
  consumerOf,
  type Group,
  isExternal,
  requireGroupNotDeleting,
  requireGroupNotReverting,
} from './attachments.ts'

export const groupRel = 'volumes:config:volume-group'

export const affected = (group: Group) => ({ extId: group.extId, name: group.name, rel: groupRel })

export const groupTask = (operation: string, description: string, group: Group) => ({
  operation,
  description,
  affected: [affected(group)],
  clusterExtIds: [group.clusterReference],
})

/** @throws ApiError 409 while the group is being deleted or reverted, or its cluster is read-only, 503 while the cluster is down */
export async function requireUsable(
  ctx: { readonly store: Reader; readonly drivers: Drivers },
  group: Group,
): Promise<EntityOf<typeof Cluster>> {
  const cluster = await requireWritable(ctx, group.clusterReference)
  requireGroupNotDeleting(group)
  requireGroupNotReverting(group)
  return cluster
}

/** @throws ApiError VOLUME_GROUP_BUSY */
export function requireNotHydrating({ blockStorage }: Pick<Drivers, 'blockStorage'>, { extId, name }: Group): void {
  if (blockStorage.hydrationOf(extId)?.status === 'IN_PROGRESS')
    throw new ApiError('VOLUME_GROUP_BUSY', { name, state: 'hydrating' })
}

export async function requireWritable(
  ctx: { readonly store: Reader; readonly drivers: Drivers },
  clusterExtId: string,
): Promise<EntityOf<typeof Cluster>> {
  const cluster = (await ctx.store.get(Cluster, clusterExtId)) as EntityOf<typeof Cluster>
  requireReachable(ctx, cluster)
  if (cluster.config?.operationMode === 'READ_ONLY') {
    const fault = `The cluster "${cluster.name}" is in the operation mode READ_ONLY: nothing can be written to it.`
    throw new ApiError('CONFLICT', { fault })
  }
  return cluster
}

type Shown = NonNullable<Group['attachments']>[number]

export async function presentVolumeGroups(
  ctx: ReadContext,
  groups: readonly Group[],
  { expand }: { readonly expand: ReadonlySet<string> },
): Promise<readonly Group[]> {
  const attachments = await attachmentsWith(
    ctx.store,
    'volumeGroupExtId',
    groups.map(({ extId }) => extId),
  )
  const clusters = expand.has('cluster')
    ? await clusterProjections(
        ctx,
        groups.map((group) => group.clusterReference),
      )
    : undefined
  const shown: Group[] = []
  for (const group of groups) {
    const own = attachments.get(group.extId) ?? []
    shown.push({
      ...group,
      ...(own.length > 0 && { ...consumed(own), attachments: own.map((one) => shownAttachment(group, one)) }),
      ...defined({ hydrationStatus: ctx.drivers.blockStorage.hydrationOf(group.extId)?.status }),
      ...clusters?.get(group.clusterReference),
      ...(expand.has('metadata') ? { volumeGroupMetadataProjection: metadataProjection(group) } : {}),
    })
  }
  return shown
}

function consumed(attachments: readonly Attachment[]): Pick<Group, 'attachmentType' | 'protocol'> {
  const external = attachments.find(isExternal)
  if (external === undefined) return { attachmentType: 'DIRECT', protocol: 'NOT_ASSIGNED' }
  return { attachmentType: 'EXTERNAL', protocol: consumerOf(external) === 'iscsiClient' ? 'ISCSI' : 'NVMF' }
}

function shownAttachment({ clusterReference }: Group, attachment: Attachment): Shown {
  const extId = consumerIdOf(attachment)
  switch (consumerOf(attachment)) {
    case 'vm':
      return { attachment: { $objectType: 'volumes.v4.config.VmAttachment', extId, index: attachment.scsiIndex! } }
    case 'iscsiClient':
      return { attachment: { $objectType: 'volumes.v4.config.IscsiClientAttachment', extId, clusterReference } }
    case 'nvmfClient':
      return { attachment: { $objectType: 'volumes.v4.config.NvmfClientAttachment', extId, clusterReference } }
  }
}

const metadataProjection = ({ categoryIds = [], ownerReferenceId }: EntityOf<typeof VolumeGroup>) =>
  defined({ categoryIds: categoryIds.length === 0 ? undefined : categoryIds, ownerReference: ownerReferenceId })

/** For `$expand=cluster`, by cluster id, without clusters that the caller may not see. */
export async function clusterProjections(
  ctx: ReadContext,
  clusterExtIds: readonly (string | undefined)[],
): Promise<ReadonlyMap<string, object>> {
  const wanted = new Set(clusterExtIds.filter((extId) => extId !== undefined))
  const scope = await ctx.scopeOf(Cluster.kind)
  const projections = new Map<string, object>()
  if (scope === 'none') return projections
  for (const cluster of await ctx.store.getMany(Cluster, [...wanted])) {
    if (!matchesScope(scope, cluster)) continue
    projections.set(cluster.extId, {
      clusterProjection: { clusterExtId: cluster.extId, clusterName: cluster.name },
    })
  }
  return projections
}
