/** Files of disks and CD-ROM drives that a task creates. Source: behaviour vmm.md 1.1 (steps of CreateVm), 1.2, 1.3, 1.8. */

import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Ova } from '@hyperplane/contract/vmm/content/ova'
import { ApiError } from '../../../core/api-error.ts'
import { defined } from '../../../core/defined.ts'
import { rowWithId } from '../../../core/standard.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { DiskSource, VirtualDisk } from '../../../drivers/hypervisor.ts'
import type { Reader, Transaction } from '../../../store/store.ts'
import { DriverError, type StepContext } from '../../context.ts'
import { roomForDisk } from '../../storage-space/capacity.ts'
import type { FileBacking, VmEntity } from '../../virtual-machines/entity.ts'
import { requireImageRoom } from '../content/image/image-space.ts'
import { holderOf } from '../content/locations.ts'
import { transferTo } from '../content/rate-limits.ts'
import { findLayer, nameOfSource, type ResolvedSource, resolveSource } from './create/disk-sources.ts'

type UnderWay = NonNullable<VmEntity['filesUnderWay']>

const imageOf = ({ dataSource }: FileBacking): string | undefined =>
  (dataSource?.reference as { imageExtId?: string } | undefined)?.imageExtId

export const imagesOf = (files: readonly FileBacking[]): string[] => [
  ...new Set(files.flatMap((file) => imageOf(file) ?? [])),
]

/** Images and containers of these files cannot be deleted until the task ends. @param copies by id: content other than the named image */
export const underWay = (files: readonly FileBacking[], copies: Readonly<Record<string, DiskSource>> = {}): UnderWay =>
  files.map((file) => {
    const diskExtId = file.diskExtId as string
    const imageExtId = copies[diskExtId] === undefined ? imageOf(file) : undefined
    return { diskExtId, ...defined({ imageExtId, containerExtId: file.storageContainer?.extId }) }
  })

/** The other files under way, without these. */
export const without = (vm: VmEntity, diskExtIds: readonly string[]): UnderWay | undefined => {
  const others = (vm.filesUnderWay ?? []).filter(({ diskExtId }) => !diskExtIds.includes(diskExtId))
  return others.length === 0 ? undefined : others
}

export interface FileContent {
  /** Used instead of the source that the file names. */
  readonly content?: DiskSource | undefined
  readonly isReadOnly?: true | undefined
}

/** @throws ApiError 404 when the source no longer exists; 409 when it is on another cluster by now */
export async function newDiskOf(
  store: Reader,
  file: FileBacking,
  { content, isReadOnly }: FileContent = {},
): Promise<VirtualDisk> {
  if (content?.kind === 'ova') await rowWithId(store, Ova, content.extId)
  const reference = content === undefined ? file.dataSource?.reference : undefined
  const resolved = reference === undefined ? undefined : await resolveSource(store, reference)
  if (reference !== undefined && resolved === undefined) {
    throw new ApiError('VMM_ENTITY_NOT_FOUND', { ...nameOfSource(reference), attribute: 'dataSource/reference' })
  }
  if (resolved?.source.kind === 'disk') await requireSameCluster(store, file, resolved)
  return {
    extId: file.diskExtId as string,
    containerExtId: file.storageContainer?.extId as string,
    sizeBytes: file.diskSizeBytes ?? 0,
    ...defined({ source: content ?? resolved?.source, isReadOnly }),
  }
}

/** The VM of the source may have migrated since the request. */
async function requireSameCluster(
  store: Reader,
  { storageContainer }: FileBacking,
  { clusterExtIds, source }: ResolvedSource,
): Promise<void> {
  const container = await store.get(StorageContainer, storageContainer?.extId as string)
  const own = container?.clusterExtId
  if (own === undefined || clusterExtIds.includes(own)) return
  const [from, to] = await Promise.all(
    [clusterExtIds[0], own].map(async (extId = '') => (await store.get(Cluster, extId))?.name ?? extId),
  )
  const { extId } = source as { readonly extId: string }
  throw new ApiError('CONFLICT', {
    fault: `The source disk ${extId} is on the cluster "${from}" by now, and the new disk would be on the cluster "${to}".`,
  })
}

/** @throws ApiError 404 when the source no longer exists; SOURCE_UNAVAILABLE when its repository does not answer */
export async function createFile(ctx: StepContext, file: FileBacking, content: FileContent = {}): Promise<void> {
  const disk = await newDiskOf(ctx.store, file, content)
  try {
    await ctx.drivers.hypervisor.createDisk(disk)
  } catch (error) {
    const isFinal = error instanceof DriverError && !error.retryable
    if (!isFinal || disk.source?.kind !== 'external') throw error
    const { repository, path } = disk.source
    const values = { action: 'Creating the disk', source: `${repository}/${path}`, cause: error.message }
    throw new ApiError('SOURCE_UNAVAILABLE', values, { cause: error })
  }
}

/** @throws ApiError OUT_OF_STORAGE */
export async function requireRoom(
  ctx: { readonly store: Reader; readonly drivers: Drivers },
  files: readonly FileBacking[],
): Promise<void> {
  for (const { diskSizeBytes = 0, storageContainer } of files) {
    const extId = storageContainer?.extId as string
    const container = await ctx.store.get(StorageContainer, extId)
    const free = container === undefined ? 0 : await roomForDisk(ctx, container)
    if (diskSizeBytes > free)
      throw new ApiError('OUT_OF_STORAGE', { name: container?.name ?? extId, free, asked: diskSizeBytes })
  }
}

export async function imagesToCopy(
  store: Reader,
  files: readonly FileBacking[],
  clusterExtId: string,
): Promise<EntityOf<typeof Image>[]> {
  const images = await store.getMany(Image, imagesOf(files))
  return images.filter(({ clusterLocationExtIds }) => !clusterLocationExtIds?.includes(clusterExtId))
}

/** For a task that reads these sources: images that it copies to the cluster, and recovery points. */
export async function locksOf(store: Reader, files: readonly FileBacking[], clusterExtId: string): Promise<string[]> {
  const locks = (await imagesToCopy(store, files, clusterExtId)).map(({ extId }) => extId)
  for (const { dataSource } of files) {
    const layer = await findLayer(store, dataSource?.reference)
    if (layer !== undefined) locks.push(layer.point.extId)
  }
  return [...new Set(locks)]
}

export async function copyImages(ctx: StepContext, files: readonly FileBacking[], clusterExtId: string): Promise<void> {
  const images = await imagesToCopy(ctx.store, files, clusterExtId)
  for (const image of images) {
    const { extId, sizeBytes = 0 } = image
    await requireImageRoom(ctx, [clusterExtId], sizeBytes)
    const from = { imageExtId: extId, clusterExtId: holderOf(ctx, image) }
    await ctx.drivers.contentSource.copy(from, { imageExtId: extId, clusterExtId }, transferTo(ctx, clusterExtId))
  }
}

export async function storeImageCopies(
  store: Transaction,
  files: readonly FileBacking[],
  clusterExtId: string,
): Promise<void> {
  for (const { extId, clusterLocationExtIds = [] } of await imagesToCopy(store, files, clusterExtId)) {
    await store.update(Image, extId, { clusterLocationExtIds: [...clusterLocationExtIds, clusterExtId] })
  }
}

/** Recorded copies belong to the image and stay: other VMs may use them already. */
export async function removeCopies(
  ctx: StepContext,
  files: readonly FileBacking[],
  clusterExtId: string,
): Promise<void> {
  for (const { extId } of await imagesToCopy(ctx.store, files, clusterExtId))
    await ctx.drivers.contentSource.remove({ imageExtId: extId, clusterExtId })
}
