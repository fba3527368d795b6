/** All data in the storage containers of a cluster. Source: behaviour clustermgmt.md 3 (Capacity). */
import type { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Ova } from '@hyperplane/contract/vmm/content/ova'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { defined } from '../../core/defined.ts'
import { pathOf } from '../../core/standard.ts'
import { parseTime } from '../../core/time/clock.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Layer } from '../../drivers/hypervisor.ts'
import { equals } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'
import { type Data, reduced } from './data-reduction.ts'
import { filled, fillOf, writtenTo } from './written.ts'

/** Times are milliseconds since 1970. */
export interface StoredData extends Data {
  readonly containerExtId: string
  /** Written by users; bytes that several volume disks share count for each of them. */
  readonly logicalBytes: number
  /** Capacity of a thin disk; default: the bytes that it holds. */
  readonly sizeBytes?: number
  /** Additional bytes if clones, or snapshots, were copies. */
  readonly cloneBytes?: number
  readonly snapshotBytes?: number
  /** Bytes that only snapshots hold. */
  readonly reclaimableBytes?: number
  /** Absent: it has always been there. */
  readonly from?: number
}

interface DataContext {
  readonly store: Reader
  readonly drivers: Pick<Drivers, 'blockStorage' | 'externalHypervisor' | 'hardware' | 'hypervisor'>
}

export const imageContainerName = 'SelfServiceContainer'
/** Their files are in the image container of each cluster that they name. */
export const kindsInImageContainer = [Image, Ova] as const

/** The data that exists now, as large as it was or will be at `time`. Reads every disk of the cluster, those of VMs in parts. */
export async function* storedData(
  ctx: DataContext,
  clusterExtId: string,
  containers: readonly StorageContainer[],
  time: number,
): AsyncGenerator<readonly StoredData[]> {
  const { hypervisor, externalHypervisor } = ctx.drivers
  const layers = new Map([...hypervisor.layers(time), ...externalHypervisor.layers(time)])
  const known = new Set(containers.map(({ extId }) => extId))
  const inContainers = (data: readonly StoredData[]) => data.filter(({ containerExtId }) => known.has(containerExtId))
  const ofCluster = { filter: equals(pathOf(Vm, 'cluster/extId'), clusterExtId) }
  for await (const vms of ctx.store.findInParts(Vm, ofCluster))
    yield inContainers(vms.flatMap((vm) => (vm.disks ?? []).map((disk) => diskOfVm(vm, disk, layers, time))))
  yield inContainers(await disksOfExternalVms(ctx.store, clusterExtId, layers))
  // The layers of recovery points, and those that clones share.
  yield inContainers([...layers].map(([extId, layer]) => ({ extId, ...dataOf(layer) })))
  yield inContainers(await volumeDisks(ctx, containers, time))
  yield inContainers(await files(ctx, clusterExtId, containers))
}

/** Takes the disk's layer out of `layers`. */
function diskOfVm(
  vm: Vm,
  disk: NonNullable<Vm['disks']>[number],
  layers: Map<string, Layer>,
  time: number,
): StoredData {
  const backing = disk.backingInfo as { storageContainer?: { extId?: string }; diskSizeBytes?: number } | undefined
  const extId = disk.extId ?? vm.extId
  const fill = fillOf(vm, disk)
  const layer = layers.get(extId)
  layers.delete(extId)
  return {
    extId,
    ...sized(layer === undefined ? writtenTo(vm, disk, time) : dataOf(layer)),
    containerExtId: backing?.storageContainer?.extId ?? '',
    ...defined({
      sizeBytes: backing?.diskSizeBytes,
      ageMillis: ageOf(fill?.since ?? vm.createTime, time),
      from: timeOf(fill?.addedAt ?? vm.createTime),
    }),
  }
}

async function disksOfExternalVms(
  store: Reader,
  clusterExtId: string,
  layers: Map<string, Layer>,
): Promise<StoredData[]> {
  const data: StoredData[] = []
  for (const vm of await store.find(ExternVm, { filter: equals(pathOf(ExternVm, 'cluster/extId'), clusterExtId) })) {
    for (const { extId = vm.extId, backingInfo } of vm.disks ?? []) {
      const sizeBytes = backingInfo?.diskSizeBytes ?? 0
      const layer = layers.get(extId)
      layers.delete(extId)
      const held = sized(layer === undefined ? filled(sizeBytes) : dataOf(layer))
      data.push({ extId, ...held, sizeBytes, containerExtId: backingInfo?.storageContainer?.extId ?? '' })
    }
  }
  return data
}

const sized = (held: number | ReturnType<typeof dataOf>) =>
  typeof held === 'number' ? { logicalBytes: held, uniqueBytes: held } : held

/** Bytes of a layer count once, for any number of disks that read the layer. */
function dataOf({ containerExtId, ownBytes, disks = 1, snapshots = 0 }: Layer) {
  const others = Math.max(0, snapshots - (disks === 0 ? 1 : 0))
  return {
    containerExtId,
    logicalBytes: ownBytes,
    uniqueBytes: ownBytes,
    cloneBytes: Math.max(0, disks - 1) * ownBytes,
    snapshotBytes: others * ownBytes,
    reclaimableBytes: disks === 0 && snapshots > 0 ? ownBytes : 0,
  }
}

async function volumeDisks({ store, drivers }: DataContext, containers: readonly StorageContainer[], time: number) {
  const data: StoredData[] = []
  for (const container of containers) {
    const filter = equals(pathOf(VolumeDisk, 'storageContainerId'), container.extId)
    const disks = await store.find(VolumeDisk, { filter })
    const usages = await drivers.blockStorage.usageOf(
      disks.map(({ extId }) => extId),
      time,
    )
    for (const { extId, diskSizeBytes } of disks) {
      const usage = usages.get(extId)
      if (usage === undefined) continue
      const { writtenBytes, uniqueBytes, createdAt } = usage
      data.push({
        extId,
        containerExtId: container.extId,
        logicalBytes: writtenBytes,
        uniqueBytes,
        cloneBytes: writtenBytes - uniqueBytes,
        ...defined({ sizeBytes: diskSizeBytes, from: createdAt }),
      })
    }
  }
  for (const { extId: containerExtId } of containers)
    for (const { extId, writtenBytes, uniqueBytes, createdAt } of drivers.blockStorage.imagesIn(containerExtId))
      data.push({
        ...{ extId, containerExtId, logicalBytes: uniqueBytes, uniqueBytes },
        snapshotBytes: writtenBytes - uniqueBytes,
        ...defined({ from: createdAt }),
      })
  return data
}

/** Not compressed: foreign files, backups of managers, images and OVAs. */
async function files(
  ctx: DataContext,
  clusterExtId: string,
  containers: readonly StorageContainer[],
): Promise<StoredData[]> {
  const { store, drivers } = ctx
  const file = (extId: string, containerExtId: string, bytes: number, createTime?: string): StoredData => ({
    ...{ extId, containerExtId, logicalBytes: bytes, uniqueBytes: bytes, isIncompressible: true },
    ...defined({ from: timeOf(createTime) }),
  })
  const data = containers.map(({ extId }) => file(extId, extId, drivers.hardware.foreignBytes(extId)))
  const backups = await store.get(BackupTarget, clusterExtId)
  const backupContainer = backupContainerAmong(containers)
  if (backups !== undefined && backupContainer !== undefined)
    data.push(file(backups.extId, backupContainer.extId, backups.lastSizeBytes ?? 0))
  const imageContainer = containers.find(({ name }) => name === imageContainerName)
  if (imageContainer === undefined) return data
  for (const kind of kindsInImageContainer) {
    const filter = equals(pathOf(kind, 'clusterLocationExtIds'), clusterExtId)
    for (const { extId, sizeBytes = 0, createTime } of await store.find<typeof Image | typeof Ova>(kind, { filter }))
      data.push(file(extId, imageContainer.extId, sizeBytes, createTime))
  }
  return data
}

export function backupContainerAmong(containers: readonly StorageContainer[]): StorageContainer | undefined {
  const usable = containers.filter((one) => one.isInternal !== true && one.isMarkedForRemoval !== true)
  return usable.find(({ name }) => name.startsWith('default-container')) ?? usable[0]
}

const timeOf = (time: string | undefined): number | undefined => (time === undefined ? undefined : parseTime(time))

const ageOf = (time: string | undefined, now: number): number | undefined => {
  const since = timeOf(time)
  return since === undefined ? undefined : Math.max(0, now - since)
}

/** Bytes of a container, or of one thing in it. The last four: all copies, before and after each reduction. */
export interface DataSums {
  readonly logicalBytes: number
  readonly sizeBytes: number
  readonly cloneBytes: number
  readonly snapshotBytes: number
  readonly reclaimableBytes: number
  readonly copiedBytes: number
  readonly compressedBytes: number
  readonly dedupedBytes: number
  readonly physicalBytes: number
}

export const noData: DataSums = {
  ...{ logicalBytes: 0, sizeBytes: 0, cloneBytes: 0, snapshotBytes: 0, reclaimableBytes: 0 },
  ...{ copiedBytes: 0, compressedBytes: 0, dedupedBytes: 0, physicalBytes: 0 },
}

export const sumsOfData = (
  container: StorageContainer,
  around: { readonly hosts: number; readonly now: number },
  data: StoredData,
): DataSums => {
  const { logicalBytes, sizeBytes = logicalBytes, cloneBytes = 0, snapshotBytes = 0, reclaimableBytes = 0 } = data
  return { logicalBytes, sizeBytes, cloneBytes, snapshotBytes, reclaimableBytes, ...reduced(container, around, data) }
}

export function added(a: DataSums, b: DataSums): DataSums {
  return {
    logicalBytes: a.logicalBytes + b.logicalBytes,
    sizeBytes: a.sizeBytes + b.sizeBytes,
    cloneBytes: a.cloneBytes + b.cloneBytes,
    snapshotBytes: a.snapshotBytes + b.snapshotBytes,
    reclaimableBytes: a.reclaimableBytes + b.reclaimableBytes,
    copiedBytes: a.copiedBytes + b.copiedBytes,
    compressedBytes: a.compressedBytes + b.compressedBytes,
    dedupedBytes: a.dedupedBytes + b.dedupedBytes,
    physicalBytes: a.physicalBytes + b.physicalBytes,
  }
}

export async function sumsOfContainers(
  ctx: DataContext,
  clusterExtId: string,
  containers: readonly StorageContainer[],
  around: { readonly hosts: number; readonly now: number },
): Promise<ReadonlyMap<string, DataSums>> {
  const byId = new Map(containers.map((container) => [container.extId, container]))
  const sums = new Map<string, DataSums>()
  for await (const part of storedData(ctx, clusterExtId, containers, around.now))
    for (const data of part) {
      const { containerExtId } = data
      const own = sumsOfData(byId.get(containerExtId) as StorageContainer, around, data)
      sums.set(containerExtId, added(sums.get(containerExtId) ?? noData, own))
    }
  return sums
}
