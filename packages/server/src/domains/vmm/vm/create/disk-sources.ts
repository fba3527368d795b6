/** Sources of new disks: an image, a disk of another VM or of a recovery point, a volume disk. Source: behaviour vmm.md 1.2. */
import type { AnyResource, EntityOf } from '@hyperplane/contract'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { VmRecoveryPoint } from '@hyperplane/contract/vmm/vm/recovery-point'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { pathOf } from '../../../../core/standard.ts'
import type { DiskSource } from '../../../../drivers/hypervisor.ts'
import { equals, or } from '../../../../odata/index.ts'
import type { Reader } from '../../../../store/store.ts'
import {
  type DiskEntity,
  type FileBacking,
  fileOf,
  filesOf,
  type SourceReference,
  type VmEntity,
} from '../../../virtual-machines/entity.ts'
import { requireNative } from '../recovery-points/native.ts'

type Point = EntityOf<typeof VmRecoveryPoint>

export interface ResolvedSource {
  readonly source: DiskSource
  readonly sizeBytes: number
  readonly containerExtId?: string
  /** Absent, like the clusters, for content outside the deployment. */
  readonly owner?: { readonly kind: AnyResource; readonly entity: { readonly extId: string } }
  readonly clusterExtIds: readonly string[]
}

export async function findDisk(
  store: Reader,
  diskExtId: string,
): Promise<{ vm: VmEntity; disk: DiskEntity } | undefined> {
  const [vm] = await store.find(Vm, { filter: equals(pathOf(Vm, 'disks/extId'), diskExtId), limit: 1 })
  const disk = vm?.disks?.find(({ extId }) => extId === diskExtId)
  return vm === undefined || disk === undefined ? undefined : { vm, disk }
}

interface Named {
  readonly $objectType?: string
  readonly imageExtId?: string
  readonly diskExtId?: string
  readonly volumeGroupExtId?: string
  readonly vmRecoveryPointExtId?: string
  readonly diskRecoveryPointExtId?: string
  readonly vmReference?: { readonly extId?: string }
  readonly diskAddress?: { readonly busType?: string; readonly index?: number }
  readonly externalRepositoryExtId?: string
  readonly externalDiskRelativePath?: string
  readonly shouldEnableBackgroundHydration?: boolean
}

export async function resolveSource(store: Reader, reference: SourceReference): Promise<ResolvedSource | undefined> {
  const given: Named = reference
  switch (reference.$objectType) {
    case 'vmm.v4.ahv.config.ImageReference': {
      const image = given.imageExtId === undefined ? undefined : await store.get(Image, given.imageExtId)
      return image === undefined ? undefined : imageSource(image)
    }
    case 'vmm.v4.ahv.config.VmDiskReference': {
      const found =
        given.diskExtId === undefined
          ? await diskAt(store, given.vmReference?.extId, given.diskAddress)
          : await findDisk(store, given.diskExtId)
      return found === undefined ? undefined : vmDiskSource(found.vm, found.disk)
    }
    case 'vmm.v4.ahv.config.VmDiskRecoveryPointReference': {
      const found = await findLayer(store, reference)
      return found === undefined ? undefined : layerSource(found.point, found.layerExtId, found.file)
    }
    case 'vmm.v4.ahv.config.VolumeDiskReference':
      return volumeDiskSource(store, given.diskExtId, given.volumeGroupExtId)
    case 'vmm.v4.ahv.config.ExternalDataSourceDiskReference':
      return externalSource(given)
    default:
      return undefined
  }
}

/** With the size of the disk: the task reads the repository. */
const externalSource = (given: Named): ResolvedSource => ({
  source: {
    kind: 'external',
    repository: given.externalRepositoryExtId as string,
    path: given.externalDiskRelativePath as string,
    isHydrated: given.shouldEnableBackgroundHydration !== false,
  },
  sizeBytes: 0,
  clusterExtIds: [],
})

export function nameOfSource(reference: SourceReference): { kind: string; id: string } {
  const given: Named = reference
  if (given.imageExtId !== undefined) return { kind: 'image', id: given.imageExtId }
  if (given.externalRepositoryExtId !== undefined) return { kind: 'repository', id: given.externalRepositoryExtId }
  if (given.diskRecoveryPointExtId !== undefined)
    return { kind: 'recovery point of a disk', id: given.diskRecoveryPointExtId }
  return { kind: 'disk', id: given.diskExtId ?? given.vmReference?.extId ?? 'without an id' }
}

const imageSource = (image: EntityOf<typeof Image>): ResolvedSource => ({
  source: { kind: 'image', extId: image.extId, name: image.name },
  sizeBytes: image.sizeBytes ?? 0,
  clusterExtIds: image.clusterLocationExtIds ?? [],
  owner: { kind: Image, entity: image },
})

async function diskAt(
  store: Reader,
  vmExtId: string | undefined,
  address: { busType?: string; index?: number } | undefined,
): Promise<{ vm: VmEntity; disk: DiskEntity } | undefined> {
  const vm = vmExtId === undefined ? undefined : await store.get(Vm, vmExtId)
  const { busType = 'SCSI', index = 0 } = address ?? {}
  const disk = vm?.disks?.find(({ diskAddress }) => diskAddress?.busType === busType && diskAddress.index === index)
  return vm === undefined || disk === undefined ? undefined : { vm, disk }
}

/** Undefined for a disk that represents a volume group: it has no content of its own. */
function vmDiskSource(vm: VmEntity, disk: DiskEntity): ResolvedSource | undefined {
  const file = fileOf(disk)
  if (file === undefined) return undefined
  return {
    source: { kind: 'disk', extId: disk.extId as string },
    sizeBytes: file.diskSizeBytes ?? 0,
    ...(file.storageContainer?.extId === undefined ? {} : { containerExtId: file.storageContainer.extId }),
    clusterExtIds: [vm.cluster?.extId as string],
    owner: { kind: Vm, entity: vm },
  }
}

interface FoundLayer {
  readonly point: Point
  readonly layerExtId: string
  readonly file: FileBacking | undefined
}

/** For a disk, or the content of a CD-ROM drive; undefined also for other sources. */
export async function findLayer(
  store: Reader,
  reference: SourceReference | undefined,
): Promise<FoundLayer | undefined> {
  const { vmRecoveryPointExtId, diskRecoveryPointExtId: layerExtId }: Named = reference ?? {}
  if (layerExtId === undefined || !isLayer(reference)) return undefined
  const point =
    vmRecoveryPointExtId === undefined
      ? await pointWith(store, layerExtId)
      : await store.get(VmRecoveryPoint, vmRecoveryPointExtId)
  const snapshots = [...(point?.diskRecoveryPoints ?? []), ...(point?.driveRecoveryPoints ?? [])]
  const snapshot = snapshots.find(({ diskRecoveryPointExtId }) => diskRecoveryPointExtId === layerExtId)
  if (point === undefined || snapshot === undefined) return undefined
  requireNative(point)
  const file = filesOf(point.vm as VmEntity).find(({ diskExtId }) => diskExtId === snapshot.diskExtId)
  return { point, layerExtId, file }
}

const isLayer = ({ $objectType }: Named = {}): boolean =>
  $objectType === 'vmm.v4.ahv.config.VmDiskRecoveryPointReference'

async function pointWith(store: Reader, layerExtId: string): Promise<Point | undefined> {
  const holds = (list: string) => equals(pathOf(VmRecoveryPoint, `${list}/diskRecoveryPointExtId`), layerExtId)
  const filter = or(holds('diskRecoveryPoints'), holds('driveRecoveryPoints'))
  return (await store.find(VmRecoveryPoint, { filter, limit: 1 }))[0]
}

/** @param file the file that the layer was taken of, as it was then */
export const layerSource = (point: Point, layerExtId: string, file: FileBacking | undefined): ResolvedSource => ({
  source: { kind: 'disk', extId: layerExtId },
  sizeBytes: file?.diskSizeBytes ?? 0,
  ...(file?.storageContainer?.extId === undefined ? {} : { containerExtId: file.storageContainer.extId }),
  clusterExtIds: [point.clusterExtId as string],
  owner: { kind: VmRecoveryPoint, entity: point },
})

async function volumeDiskSource(
  store: Reader,
  diskExtId: string | undefined,
  groupExtId: string | undefined,
): Promise<ResolvedSource | undefined> {
  const disk = diskExtId === undefined ? undefined : await store.get(VolumeDisk, diskExtId)
  if (disk?.volumeGroupExtId === undefined || (groupExtId !== undefined && groupExtId !== disk.volumeGroupExtId))
    return undefined
  const group = await store.get(VolumeGroup, disk.volumeGroupExtId)
  if (group === undefined) return undefined
  return {
    source: { kind: 'volumeDisk', extId: disk.extId },
    sizeBytes: disk.diskSizeBytes ?? 0,
    ...(disk.storageContainerId === undefined ? {} : { containerExtId: disk.storageContainerId }),
    clusterExtIds: [group.clusterReference],
    owner: { kind: VolumeGroup, entity: group },
  }
}
