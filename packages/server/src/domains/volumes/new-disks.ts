/** Disks that are created with their group or later. Source: behaviour volumes-storage.md 1.3. */
import type { BodyOf } from '@hyperplane/contract'
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { ApiError, invalid, refuseAll } from '../../core/api-error.ts'
import { notFound, pathOf, rowWithId } from '../../core/standard.ts'
import { created } from '../../core/updates.ts'
import type { BlockSource } from '../../drivers/block-storage.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import { equals } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'
import { type DiskEntity, emptyIn, requireDiskRoom, sizeFaults } from '../block-volumes/disks.ts'
import { allPoints } from '../block-volumes/recovery-points.ts'
import { mayRefer, type StepContext, type WriteContext } from '../context.ts'

export type DiskBody = BodyOf<typeof VolumeDisk>

const maximumDisks = 256
const maximumIndex = 16_383

export interface PlannedDisk {
  readonly disk: DiskEntity
  readonly source?: BlockSource
}

export interface Place {
  readonly cluster: Cluster
  readonly groupExtId: string
  readonly groupName: string
  /** Path of a disk in the body: empty, or with a slash at the end. */
  readonly pathOf: (index: number) => string
}

interface Origin {
  readonly container: StorageContainer
  readonly source?: BlockSource
  readonly sourceBytes?: number
}

/** Checks each body alone, then all together. */
export const newDiskFaults = (bodies: readonly DiskBody[], pathOf: Place['pathOf']): ApiError[] => [
  ...bodies.flatMap((body, index) => bodyFaults(body, pathOf(index))),
  ...duplicateIndexes(bodies, pathOf),
]

/** Bodies must have passed `diskFaults`. @throws ApiError 400, 404, 409, 422 */
export async function planDisks(ctx: WriteContext, bodies: readonly DiskBody[], place: Place): Promise<PlannedDisk[]> {
  const origins: Origin[] = []
  for (const [index, body] of bodies.entries()) {
    const origin = await originOf(ctx, body, place, `${place.pathOf(index)}diskDataSourceReference/extId`)
    refuseAll(copyFaults(body, origin, place.pathOf(index)))
    origins.push(origin)
  }
  const usedIndexes = await indexesInUse(ctx.store, place.groupExtId)
  if (usedIndexes.size + bodies.length > maximumDisks) {
    const found = usedIndexes.size + bodies.length
    throw new ApiError('LIMIT_EXCEEDED', { limit: 'Disks of a volume group', maximum: maximumDisks, found })
  }
  for (const { index } of bodies) {
    if (index !== undefined && usedIndexes.has(index)) throw new ApiError('INDEX_IN_USE', { fields: `index, ${index}` })
    if (index !== undefined) usedIndexes.add(index)
  }
  const planned: PlannedDisk[] = []
  for (const [position, body] of bodies.entries()) {
    const { container, source, sourceBytes } = origins[position] as Origin
    const diskSizeBytes = (body.diskSizeBytes ?? sourceBytes) as number
    await requireDiskRoom(ctx, container.extId, diskSizeBytes, `${place.pathOf(position)}diskSizeBytes`)
    const index = body.index ?? lowestFree(usedIndexes)
    usedIndexes.add(index)
    const disk: DiskEntity = created(ctx, VolumeDisk, body, {
      index,
      diskSizeBytes,
      storageContainerId: container.extId,
      diskDataSourceReference: body.diskDataSourceReference ?? emptyIn(container.extId),
      volumeGroupExtId: place.groupExtId,
      // The reference prevents deletion of the source during the copy.
      copyOf: source?.kind === 'volumeDisk' ? source.extId : undefined,
    })
    planned.push({ disk, ...(source === undefined ? {} : { source }) })
  }
  return planned
}

function bodyFaults(body: DiskBody, path: string): ApiError[] {
  const reference = body.diskDataSourceReference
  const at = `${path}diskDataSourceReference`
  const faults = sizeFaults(`${path}diskSizeBytes`, body.diskSizeBytes)
  const isNew = reference === undefined || reference.entityType === 'STORAGE_CONTAINER'
  if (isNew && body.diskSizeBytes === undefined) {
    faults.push(invalid(`${path}diskSizeBytes`, 'is required for a disk that is no copy'))
  }
  if (reference === undefined) return faults
  if (!sourceTypes.includes(reference.entityType ?? '')) {
    const found = reference.entityType ?? 'nothing'
    faults.push(invalid(`${at}/entityType`, `expected one of ${sourceTypes.join(', ')}; found ${found}`))
  }
  if (reference.extId === undefined) faults.push(invalid(`${at}/extId`, 'is required'))
  return faults
}

const sourceTypes: readonly string[] = ['STORAGE_CONTAINER', 'VOLUME_DISK', 'VM_DISK', 'DISK_RECOVERY_POINT']

function duplicateIndexes(bodies: readonly DiskBody[], pathOf: Place['pathOf']): ApiError[] {
  const seen = new Set<number>()
  return bodies.flatMap(({ index }, position) => {
    if (index === undefined) return []
    const isTwice = seen.has(index)
    seen.add(index)
    return isTwice ? [invalid(`${pathOf(position)}index`, `expected distinct indexes, found ${index} twice`)] : []
  })
}

function copyFaults(body: DiskBody, { sourceBytes }: Origin, path: string): ApiError[] {
  if (sourceBytes === undefined || body.diskSizeBytes === undefined || body.diskSizeBytes >= sourceBytes) return []
  const fault = `expected at least ${sourceBytes}, the size of its source; found ${body.diskSizeBytes}`
  return [invalid(`${path}diskSizeBytes`, fault)]
}

async function originOf(ctx: WriteContext, body: DiskBody, place: Place, path: string): Promise<Origin> {
  const { extId = '', entityType } = body.diskDataSourceReference ?? {}
  switch (entityType) {
    case undefined:
      return { container: await defaultContainer(ctx.store, place) }
    case 'STORAGE_CONTAINER': {
      const container = await ctx.store.get(StorageContainer, extId)
      if (container === undefined || !(await mayRefer(ctx, StorageContainer, container))) {
        throw notFound(StorageContainer, extId, path)
      }
      return { container: await usable(ctx.store, container.extId, place, path) }
    }
    case 'VOLUME_DISK': {
      const disk = await ctx.store.get(VolumeDisk, extId)
      const group = disk === undefined ? undefined : await ctx.store.get(VolumeGroup, disk.volumeGroupExtId as string)
      if (disk === undefined || group === undefined || !(await mayRefer(ctx, VolumeGroup, group))) {
        throw notFound(VolumeDisk, extId, path)
      }
      const container = await usable(ctx.store, disk.storageContainerId as string, place, path)
      return { container, source: { kind: 'volumeDisk', extId }, sourceBytes: disk.diskSizeBytes ?? 0 }
    }
    case 'VM_DISK': {
      const [vm] = await ctx.store.find(Vm, { filter: equals(pathOf(Vm, 'disks/extId'), extId), limit: 1 })
      const backing = vm?.disks?.find((disk) => disk.extId === extId)?.backingInfo as VmDiskBacking | undefined
      if (vm === undefined || backing?.storageContainer?.extId === undefined || !(await mayRefer(ctx, Vm, vm))) {
        throw notFound(VolumeDisk, extId, path)
      }
      const container = await usable(ctx.store, backing.storageContainer.extId, place, path)
      return { container, source: { kind: 'vmDisk', extId }, sourceBytes: backing.diskSizeBytes ?? 0 }
    }
    default: {
      const point = (await allPoints(ctx.store)).find(({ disks }) =>
        disks.some(({ imageExtId }) => imageExtId === extId),
      )
      const group = point === undefined ? undefined : await ctx.store.get(VolumeGroup, point.volumeGroupExtId)
      const image = point?.disks.find(({ imageExtId }) => imageExtId === extId)
      if (image === undefined || group === undefined || !(await mayRefer(ctx, VolumeGroup, group)))
        throw new ApiError('VOLUME_UNKNOWN_ENTITY_ERROR', { kind: 'disk recovery point', id: extId })
      const container = await usable(ctx.store, image.containerExtId, place, path)
      return { container, source: { kind: 'image', extId }, sourceBytes: image.sizeBytes }
    }
  }
}

interface VmDiskBacking {
  readonly diskSizeBytes?: number
  readonly storageContainer?: { readonly extId?: string }
}

async function usable(store: Reader, containerExtId: string, place: Place, path: string): Promise<Origin['container']> {
  const container = await rowWithId(store, StorageContainer, containerExtId, path)
  if (container.clusterExtId !== place.cluster.extId) {
    const where = `the cluster "${place.cluster.name}" of the volume group "${place.groupName}"`
    throw new ApiError('CONFLICT', { fault: `The storage container "${container.name}" is not on ${where}.` })
  }
  if (container.isMarkedForRemoval === true) {
    throw new ApiError('CONFLICT', { fault: `The storage container "${container.name}" is being removed.` })
  }
  return container
}

/** The oldest container that is neither internal nor being deleted. */
async function defaultContainer(store: Reader, { cluster }: Place): Promise<Origin['container']> {
  const all = await store.findWhere(StorageContainer, { clusterExtId: cluster.extId })
  const container = all.find((one) => one.isInternal !== true && one.isMarkedForRemoval !== true)
  if (container === undefined) {
    const fault = `The cluster "${cluster.name}" has no storage container. Name one in diskDataSourceReference.`
    throw new ApiError('CONFLICT', { fault })
  }
  return container
}

async function indexesInUse(store: Reader, groupExtId: string): Promise<Set<number>> {
  const rows = await store.referrers('VolumeGroup', groupExtId, 2 * maximumDisks, { from: VolumeDisk.kind })
  const disks = await Promise.all(rows.map(({ extId }) => store.pending(VolumeDisk, extId)))
  return new Set(disks.flatMap((disk) => disk?.index ?? []))
}

function lowestFree(usedIndexes: ReadonlySet<number>): number {
  for (let index = 0; index <= maximumIndex; index++) if (!usedIndexes.has(index)) return index
  throw new Error('a volume group has fewer disks than indexes')
}

export interface DiskInput {
  readonly diskExtId: string
  readonly source?: BlockSource
}

export const diskInputOf = ({ disk, source }: PlannedDisk): DiskInput => ({ diskExtId: disk.extId, source })

/** @throws ApiError when the container is gone or full, or the source disk is gone */
export async function checkDisk(
  ctx: { readonly store: Reader; readonly drivers: Drivers },
  { diskExtId, source }: DiskInput,
): Promise<void> {
  const { store } = ctx
  const disk = (await store.pending(VolumeDisk, diskExtId)) as DiskEntity
  await requireDiskRoom(ctx, disk.storageContainerId as string, disk.diskSizeBytes ?? 0, 'diskSizeBytes')
  if (source?.kind === 'volumeDisk') await rowWithId(store, VolumeDisk, source.extId, 'diskDataSourceReference/extId')
}

/** Idempotent. Consumers do not see the disk yet. */
export async function allocateDisk(
  ctx: Pick<StepContext, 'store' | 'drivers'>,
  clusterExtId: string,
  { diskExtId, source }: DiskInput,
): Promise<void> {
  const disk = (await ctx.store.pending(VolumeDisk, diskExtId)) as DiskEntity
  await ctx.drivers.blockStorage.createDisk({
    extId: diskExtId,
    clusterExtId,
    containerExtId: disk.storageContainerId as string,
    volumeGroupExtId: disk.volumeGroupExtId as string,
    index: disk.index as number,
    sizeBytes: disk.diskSizeBytes as number,
    source,
  })
}
