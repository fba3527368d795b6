/** Disks and CD-ROM drives of a body: sources, containers, bus addresses. Source: behaviour vmm.md 1.2, 1.3. */
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { ApiError, refuseAll } from '../../../../core/api-error.ts'
import { mayRefer } from '../../../context.ts'
import {
  type CdRomEntity,
  type DiskEntity,
  type FileBacking,
  fileOf,
  isUefi,
  nvramOf,
  type VmBody,
  volumeGroupOf,
} from '../../../virtual-machines/entity.ts'
import { nvramPath } from '../firmware.ts'
import { defaultCdRomBus, type Slot, type SlotWish, wishOf } from '../parts/slots.ts'
import type { Constraint } from './clusters.ts'
import { nameOfSource, type ResolvedSource, resolveSource } from './disk-sources.ts'
import type { Planning } from './planning.ts'

export interface FilePart extends GivenFile {
  readonly source: ResolvedSource | undefined
}

/** Requested bus addresses, in the order of the body: disks first, then CD-ROM drives. */
export function slotWishes(config: VmBody): SlotWish[] {
  return [
    ...(config.disks ?? []).map((disk, index) => wishOf(`disks[${index}]`, disk.diskAddress, 'SCSI')),
    ...(config.cdRoms ?? []).map((drive, index) =>
      wishOf(`cdRoms[${index}]`, drive.diskAddress, defaultCdRomBus(config)),
    ),
  ]
}

/** By path of `backingInfo` in the body: content that takes the place of the data source which the body names. */
export type Contents = ReadonlyMap<string, ResolvedSource>

export interface GivenFile {
  readonly path: string
  readonly backing: FileBacking
}

/** Disks and CD-ROM drives that have a file, and the NVRAM device. */
export const filesGiven = (body: VmBody): GivenFile[] => [
  ...(body.disks ?? []).flatMap((disk, index) => givenFile(`disks[${index}]/backingInfo`, fileOf(disk))),
  ...(body.cdRoms ?? []).flatMap((drive, index) => givenFile(`cdRoms[${index}]/backingInfo`, drive.backingInfo)),
  ...givenFile(nvramPath, isUefi(body) ? nvramOf(body) : undefined),
]

const givenFile = (path: string, backing: FileBacking | undefined): GivenFile[] =>
  backing === undefined ? [] : [{ path, backing }]

/** The files with their sources. @throws ApiError 404 for all missing sources together */
export async function withSources(
  ctx: Planning,
  given: readonly GivenFile[],
  contents: Contents = new Map(),
): Promise<FilePart[]> {
  const files: FilePart[] = []
  const missing: ApiError[] = []
  for (const { path, backing } of given) {
    const content = contents.get(path)
    const reference = content === undefined ? backing.dataSource?.reference : undefined
    const source = reference === undefined ? undefined : await resolveSource(ctx.store, reference)
    if (reference !== undefined && !(await isUsable(ctx, source))) {
      const attribute = `${path}/dataSource/reference`
      missing.push(new ApiError('VMM_ENTITY_NOT_FOUND', { ...nameOfSource(reference), attribute }))
    }
    files.push({ path, backing, source: content ?? source })
  }
  refuseAll(missing)
  return files
}

const isUsable = async (ctx: Planning, source: ResolvedSource | undefined): Promise<boolean> =>
  source !== undefined && (source.owner === undefined || mayRefer(ctx, source.owner.kind, source.owner.entity))

export async function fileConstraints(
  ctx: Planning,
  files: readonly FilePart[],
  hasCluster: boolean,
): Promise<Constraint[]> {
  const constraints: Constraint[] = []
  for (const { path, backing, source } of files) {
    // An image is copied to a cluster that the body names; without a name, a cluster that holds the image is chosen.
    const isCopied = source?.source.kind === 'image' && hasCluster
    if (source?.owner !== undefined && !isCopied) {
      constraints.push({
        path,
        what: `the ${source.owner.kind.title} of its source`,
        clusterExtIds: source.clusterExtIds,
      })
    }
    const containerExtId = backing.storageContainer?.extId
    const container = containerExtId === undefined ? undefined : await ctx.store.get(StorageContainer, containerExtId)
    if (container?.clusterExtId !== undefined) {
      constraints.push({ path, what: `storage container ${container.name}`, clusterExtIds: [container.clusterExtId] })
    }
  }
  return constraints
}

export async function groupConstraints(ctx: Planning, body: VmBody): Promise<Constraint[]> {
  const constraints: Constraint[] = []
  for (const [index, disk] of (body.disks ?? []).entries()) {
    const extId = volumeGroupOf(disk)
    const group = extId === undefined ? undefined : await ctx.store.get(VolumeGroup, extId)
    if (group === undefined) continue
    const clusterExtIds = [group.clusterReference]
    constraints.push({ path: `disks[${index}]`, what: `volume group ${group.name}`, clusterExtIds })
  }
  return constraints
}

/** Size: at least that of the source. Container: requested, else that of the source, else the default. */
export function placed(file: FilePart, defaultExtId: string, clusterExtId: string, diskExtId: string): FileBacking {
  const { backing, source } = file
  const isSourceHere = source?.clusterExtIds.includes(clusterExtId) === true
  const containerExtId =
    backing.storageContainer?.extId ?? (isSourceHere ? source.containerExtId : undefined) ?? defaultExtId
  const { dataSource, storageConfig } = backing
  return {
    diskExtId,
    diskSizeBytes: Math.max(backing.diskSizeBytes ?? 0, source?.sizeBytes ?? 0),
    ...(dataSource === undefined ? {} : { dataSource }),
    ...(storageConfig === undefined ? {} : { storageConfig }),
    storageContainer: { extId: containerExtId },
  }
}

/** Disks and CD-ROM drives to store; disks that represent a volume group are returned in `groups`. */
export function partsOf(
  body: VmBody,
  files: readonly FilePart[],
  backings: readonly FileBacking[],
  slots: readonly Slot[],
  newId: () => string,
): { disks: DiskEntity[]; cdRoms: CdRomEntity[]; groups: { volumeGroupExtId: string; index: number }[] } {
  const backingAt = new Map(files.map(({ path }, index) => [path, backings[index]]))
  const typed = (backing: FileBacking): DiskEntity['backingInfo'] =>
    ({ $objectType: 'vmm.v4.ahv.config.VmDisk', ...backing }) as DiskEntity['backingInfo']
  const disks: DiskEntity[] = []
  const groups: { volumeGroupExtId: string; index: number }[] = []
  for (const [index, disk] of (body.disks ?? []).entries()) {
    const file = backingAt.get(`disks[${index}]/backingInfo`)
    const slot = slots[index] as Slot
    const volumeGroupExtId = volumeGroupOf(disk)
    if (volumeGroupExtId !== undefined) groups.push({ volumeGroupExtId, index: slot.index })
    else if (file !== undefined) {
      disks.push({ ...disk, extId: file.diskExtId as string, backingInfo: typed(file), diskAddress: slot })
    }
  }
  const cdRoms = (body.cdRoms ?? []).map((drive, index): CdRomEntity => {
    const file = backingAt.get(`cdRoms[${index}]/backingInfo`)
    const { backingInfo: _given, ...empty } = drive
    const diskAddress = slots[(body.disks?.length ?? 0) + index] as CdRomEntity['diskAddress']
    const backing = file === undefined ? {} : { backingInfo: file }
    return { ...empty, extId: newId(), ...backing, diskAddress, isoType: 'OTHER' }
  })
  return { disks, cdRoms, groups }
}
