/** Copies of a version's disks on further clusters. Source: behaviour vmm.md 1.10. */

import { TemplateVersion } from '@hyperplane/contract/vmm/content/template'
import { derivedId } from '../../../../core/ids/named-id.ts'
import { defaultContainer } from '../../../containers/default-container.ts'
import type { RecordContext, StepContext } from '../../../context.ts'
import { requireRoom } from '../../vm/files.ts'
import { type Copy, copiesOn, firstClusterOf, type VersionEntity } from './version-content.ts'

/** Copies that the cluster still needs; their ids follow from the version, so that a repeated step makes the same ones. */
async function copiesFor(ctx: StepContext, version: VersionEntity, clusterExtId: string): Promise<Copy[]> {
  if (version.clusterLocationExtIds?.includes(clusterExtId) === true) return []
  const container = await defaultContainer(ctx.store, clusterExtId)
  return copiesOn(version, firstClusterOf(version)).map((copy) => ({
    ...copy,
    diskExtId: derivedId('template copy', copy.fileExtId, clusterExtId),
    clusterExtId,
    containerExtId: container.extId,
  }))
}

/** @throws ApiError OUT_OF_STORAGE */
export async function makeCopies(
  ctx: StepContext,
  version: VersionEntity,
  clusterExtId: string,
): Promise<readonly Copy[]> {
  const copies = await copiesFor(ctx, version, clusterExtId)
  await requireRoom(
    ctx,
    copies.map(({ containerExtId, sizeBytes }) => ({
      storageContainer: { extId: containerExtId },
      diskSizeBytes: sizeBytes,
    })),
  )
  const homes = new Map(copiesOn(version, firstClusterOf(version)).map((copy) => [copy.fileExtId, copy.diskExtId]))
  for (const { fileExtId, diskExtId, containerExtId, sizeBytes } of copies) {
    const source = { kind: 'disk', extId: homes.get(fileExtId) as string, isFullCopy: true } as const
    await ctx.drivers.hypervisor.createDisk({ extId: diskExtId, containerExtId, sizeBytes, source, isReadOnly: true })
  }
  return copies
}

export async function storeVersionCopies(
  ctx: RecordContext,
  { extId, copies = [], clusterLocationExtIds = [] }: VersionEntity,
  clusterExtId: string,
  added: readonly Copy[],
): Promise<void> {
  if (clusterLocationExtIds.includes(clusterExtId)) return
  await ctx.store.update(TemplateVersion, extId, {
    clusterLocationExtIds: [...clusterLocationExtIds, clusterExtId],
    copies: [...copies, ...added],
  })
}

/** Recorded copies belong to the version, and other deployments may use them. */
export async function deleteUnstored(ctx: StepContext, versionExtId: string, clusterExtId: string): Promise<void> {
  const version = await ctx.store.get(TemplateVersion, versionExtId)
  if (version === undefined) return
  for (const { diskExtId } of await copiesFor(ctx, version, clusterExtId))
    await ctx.drivers.hypervisor.deleteDisk(diskExtId)
}
