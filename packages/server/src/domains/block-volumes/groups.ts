/** Shared by volumes and storage v4.0.a3. Source: behaviour volumes-storage.md 1.1, 1.2, 1.8. */

import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { matchesScope } from '../../core/access/scope.ts'
import { ApiError } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Reader } from '../../store/store.ts'
import { type ReadContext, taskAbout } from '../context.ts'
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

export const groupTask = (operation: string, description: string, group: Group) => ({
  ...taskAbout(operation, VolumeGroup, group, group.clusterReference),
  description,
})

/** @throws ApiError 409 while the group is being deleted or reverted, or its cluster is read-only, 503 while the cluster is down */
export async function requireUsable(
  ctx: { readonly store: Reader; readonly drivers: Drivers },
  group: Group,
): Promise<Cluster> {
  const cluster = await requireWritable(ctx, group.clusterReference)
  requireGroupNotDeleting(group)
  requireGroupNotReverting(group)
  return cluster
}

export function requireNotHydrating({ blockStorage }: Pick<Drivers, 'blockStorage'>, { extId, name }: Group): void {
  if (blockStorage.hydrationOf(extId)?.status === 'IN_PROGRESS')
    throw new ApiError('VOLUME_GROUP_BUSY', { name, state: 'hydrating' })
}

export async function requireWritable(
  ctx: { readonly store: Reader; readonly drivers: Drivers },
  clusterExtId: string,
): Promise<Cluster> {
  const cluster = (await ctx.store.get(Cluster, clusterExtId)) as Cluster
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
  options: { readonly expand: ReadonlySet<string> },
): Promise<readonly Group[]> {
  const attachments = await attachmentsWith(
    ctx.store,
    'volumeGroupExtId',
    groups.map(({ extId }) => extId),
  )
  const shown: Group[] = []
  for (const group of groups) {
    const own = attachments.get(group.extId) ?? []
    shown.push({
      ...group,
      ...(own.length > 0 && { ...consumed(own), attachments: own.map((one) => shownAttachment(group, one)) }),
      ...defined({ hydrationStatus: ctx.drivers.blockStorage.hydrationOf(group.extId)?.status }),
      ...(options.expand.has('metadata') ? { volumeGroupMetadataProjection: metadataProjection(group) } : {}),
    })
  }
  return withCluster(ctx, shown, options)
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

const metadataProjection = ({ categoryIds = [], ownerReferenceId }: VolumeGroup) =>
  defined({ categoryIds: categoryIds.length === 0 ? undefined : categoryIds, ownerReference: ownerReferenceId })

/** Without clusters that the caller may not see. */
export async function withCluster<T extends { readonly clusterReference?: string }>(
  ctx: ReadContext,
  rows: readonly T[],
  { expand }: { readonly expand: ReadonlySet<string> },
): Promise<readonly T[]> {
  if (!expand.has('cluster')) return rows
  const scope = await ctx.scopeOf(Cluster.kind)
  const wanted = new Set(rows.flatMap(({ clusterReference = [] }) => clusterReference))
  const clusters = (await ctx.store.getMany(Cluster, [...wanted])).filter((cluster) => matchesScope(scope, cluster))
  const projections = new Map(
    clusters.map(({ extId, name }) => [extId, { clusterExtId: extId, clusterName: name }] as const),
  )
  return rows.map((row) => {
    const clusterProjection = projections.get(row.clusterReference ?? '')
    return clusterProjection === undefined ? row : { ...row, clusterProjection }
  })
}
