/** Files of disks and CD-ROM drives that a task creates. Source: behaviour vmm.md 1.1 (steps of CreateVm), 1.2, 1.3, 1.8. */
import type { EntityOf } from '@hyperplane/contract'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { ApiError } from '../../../core/api-error.ts'
import { DriverError, type StepContext } from '../../../core/tasks/define-task.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { VirtualDisk } from '../../../drivers/hypervisor.ts'
import type { Reader, Transaction } from '../../../store/store.ts'
import { roomForDisk } from '../../storage-space/capacity.ts'
import type { FileBacking, VmEntity } from '../../virtual-machines/entity.ts'
import { requireImageRoom } from '../content/image/image-space.ts'
import { nameOfSource, resolveSource } from './create/disk-sources.ts'

type UnderWay = NonNullable<VmEntity['filesUnderWay']>

const imageOf = ({ dataSource }: FileBacking): string | undefined =>
  (dataSource?.reference as { imageExtId?: string } | undefined)?.imageExtId

/** For `filesUnderWay` of the VM: until the task ends, the images and containers of these files cannot be deleted. */
export const underWay = (files: readonly FileBacking[]): UnderWay =>
  files.map((file) => ({
    diskExtId: file.diskExtId as string,
    ...(imageOf(file) === undefined ? {} : { imageExtId: imageOf(file) as string }),
    ...(file.storageContainer?.extId === undefined ? {} : { containerExtId: file.storageContainer.extId }),
  }))

/** The other files under way, without these. */
export const without = (vm: VmEntity, diskExtIds: readonly string[]): UnderWay | undefined => {
  const others = (vm.filesUnderWay ?? []).filter(({ diskExtId }) => !diskExtIds.includes(diskExtId))
  return others.length === 0 ? undefined : others
}

/** @throws ApiError 404 when the source no longer exists */
export async function diskOf(store: Reader, file: FileBacking): Promise<VirtualDisk> {
  const reference = file.dataSource?.reference
  const resolved = reference === undefined ? undefined : await resolveSource(store, reference)
  if (reference !== undefined && resolved === undefined) {
    throw new ApiError('VMM_ENTITY_NOT_FOUND', { ...nameOfSource(reference), attribute: 'dataSource/reference' })
  }
  return {
    extId: file.diskExtId as string,
    containerExtId: file.storageContainer?.extId as string,
    sizeBytes: file.diskSizeBytes ?? 0,
    ...(resolved === undefined ? {} : { source: resolved.source }),
  }
}

/** @throws ApiError 404 when the source no longer exists; SOURCE_UNAVAILABLE when its repository does not answer */
export async function createFile(ctx: StepContext<Drivers>, file: FileBacking): Promise<void> {
  const disk = await diskOf(ctx.store, file)
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

/** Source images that the cluster does not hold yet. */
export async function imagesToCopy(
  store: Reader,
  files: readonly FileBacking[],
  clusterExtId: string,
): Promise<EntityOf<typeof Image>[]> {
  const ids = new Set(files.flatMap((file) => imageOf(file) ?? []))
  const images = await store.getMany(Image, [...ids])
  return images.filter(({ clusterLocationExtIds }) => !clusterLocationExtIds?.includes(clusterExtId))
}

export async function copyImages(
  ctx: StepContext<Drivers>,
  files: readonly FileBacking[],
  clusterExtId: string,
): Promise<void> {
  for (const { extId, sizeBytes = 0, clusterLocationExtIds = [] } of await imagesToCopy(
    ctx.store,
    files,
    clusterExtId,
  )) {
    await requireImageRoom(ctx, [clusterExtId], sizeBytes)
    const from = { imageExtId: extId, clusterExtId: clusterLocationExtIds[0] as string }
    await ctx.drivers.contentSource.copy(from, { imageExtId: extId, clusterExtId })
  }
}

/** Needs no undo: the copy belongs to the image from then on, and other VMs may use it already. */
export async function storeCopies(
  store: Transaction,
  files: readonly FileBacking[],
  clusterExtId: string,
): Promise<void> {
  for (const { extId, clusterLocationExtIds = [] } of await imagesToCopy(store, files, clusterExtId)) {
    await store.update(Image, extId, { clusterLocationExtIds: [...clusterLocationExtIds, clusterExtId] })
  }
}
