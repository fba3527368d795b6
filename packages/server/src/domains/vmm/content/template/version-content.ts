/** The configuration of a VM, and copies of its disks as layers over them. Source: behaviour vmm.md 1.10, 1.16 (template create). */
import type { EntityOf } from '@hyperplane/contract'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Category } from '@hyperplane/contract/platform/category'
import { TemplateVersion } from '@hyperplane/contract/vmm/content/template'
import { ApiError } from '../../../../core/api-error.ts'
import { defined } from '../../../../core/defined.ts'
import { notFound } from '../../../../core/standard.ts'
import { parseTime } from '../../../../core/time/clock.ts'
import type { SecretReader } from '../../../../core/world.ts'
import type { Reader } from '../../../../store/store.ts'
import { idsOf } from '../../../scheduling/policy-selection.ts'
import { filled } from '../../../storage-space/written.ts'
import { type DiskEntity, fileOf, filesOf, type VmEntity } from '../../../virtual-machines/entity.ts'
import { shownNic } from '../../../virtual-machines/virtual-functions.ts'
import { blueprintOfVm } from '../../vm/clone.ts'
import { type Blueprint, bodyLike, type Overrides } from '../../vm/create/derived-vm.ts'
import { readNic } from '../../vm/parts/nics.ts'

export type VersionEntity = EntityOf<typeof TemplateVersion>
export type Copy = NonNullable<VersionEntity['copies']>[number]
export type Customization = NonNullable<VmEntity['guestCustomization']>

/** @throws ApiError 404 also for a version of another template */
export async function versionOf(
  store: Reader,
  templateExtId: string,
  versionExtId: string,
  attribute = 'versionId',
): Promise<VersionEntity> {
  const version = await store.get(TemplateVersion, versionExtId)
  if (version?.templateExtId === templateExtId) return version
  throw notFound(TemplateVersion, versionExtId, attribute)
}

export const versionsOf = (store: Reader, templateExtId: string): Promise<VersionEntity[]> =>
  store.findWhere(TemplateVersion, { templateExtId })

/** The cluster that is read where any location will do. */
export const firstClusterOf = ({ clusterLocationExtIds }: VersionEntity): string => clusterLocationExtIds?.[0] as string

export const copiesOn = ({ copies = [] }: VersionEntity, clusterExtId: string): Copy[] =>
  copies.filter((copy) => copy.clusterExtId === clusterExtId)

export function customizationOf(secrets: SecretReader, version: VersionEntity): Customization | undefined {
  const json = secrets.open(TemplateVersion.kind, version.extId, 'guestCustomization', version.guestCustomization)
  return json === undefined ? undefined : JSON.parse(json)
}

const vmDisk = (diskExtId: string) => ({ $objectType: 'vmm.v4.ahv.config.VmDiskReference', diskExtId }) as const

/** For VMs on a cluster with the version's disks. */
export function blueprintOfVersion(version: VersionEntity, clusterExtId: string): Blueprint {
  const copies = new Map(copiesOn(version, clusterExtId).map((copy) => [copy.fileExtId, copy]))
  const { disks, cdRoms, ...spec } = version.vmSpec as VmEntity
  return {
    // The new disks are placed with the copies, whose containers may be those of another cluster than the captured VM's.
    spec: { ...spec, ...defined({ disks: disks?.map(withoutContainer), cdRoms: cdRoms?.map(withoutContainer) }) },
    contentOf: (fileExtId) => {
      const copy = copies.get(fileExtId)
      return {
        source: { kind: 'disk', extId: copy?.diskExtId ?? fileExtId },
        sizeBytes: copy?.sizeBytes ?? 0,
        ...defined({ containerExtId: copy?.containerExtId }),
        clusterExtIds: [clusterExtId],
        owner: { kind: TemplateVersion, entity: version },
      }
    },
    shownAs: (fileExtId) => vmDisk(copies.get(fileExtId)?.diskExtId ?? fileExtId),
  }
}

function withoutContainer<T extends { readonly backingInfo?: unknown }>(part: T): T {
  const { storageContainer: _, ...backingInfo } = (part.backingInfo ?? {}) as { storageContainer?: unknown }
  return part.backingInfo === undefined ? part : { ...part, backingInfo }
}

/** Drops categories deleted since the capture. @throws ApiError 404 for a deleted subnet, unless the overrides name others */
export async function withPresentParts(store: Reader, blueprint: Blueprint, { nics }: Overrides): Promise<Blueprint> {
  const { categories, ...spec } = blueprint.spec
  const present = (await store.getMany(Category, idsOf(categories))).map(({ extId }) => ({ extId }))
  for (const [index, { networkInfo }] of (nics === undefined ? (spec.nics ?? []) : []).entries()) {
    const extId = networkInfo?.subnet?.extId
    if (extId !== undefined && !(await store.has(Subnet, extId)))
      throw new ApiError('VMM_ENTITY_NOT_FOUND', {
        kind: Subnet.title,
        id: extId,
        attribute: `nics[${index}]/networkInfo/subnet/extId`,
      })
  }
  return { ...blueprint, spec: { ...spec, ...(present.length === 0 ? {} : { categories: present }) } }
}

/** A VM, or a version with overrides, with disks of one cluster. */
export interface Source {
  readonly spec: VmEntity
  readonly clusterExtId: string
  /** By file of `spec`. */
  readonly files: ReadonlyMap<string, Pick<Copy, 'diskExtId' | 'containerExtId' | 'sizeBytes' | 'writtenBytes'>>
}

export function sourceVm(vm: VmEntity, now: number): Source {
  const { spec } = blueprintOfVm(vm)
  const ageMillis = Math.max(0, now - (parseTime(vm.createTime as string) ?? now))
  const written = new Set((spec.disks ?? []).flatMap((disk) => fileOf(disk)?.diskExtId ?? []))
  const files = filesOf(spec).map((file) => {
    const diskExtId = file.diskExtId as string
    const sizeBytes = file.diskSizeBytes ?? 0
    // An ISO is a read-only layer.
    const writtenBytes = written.has(diskExtId) ? filled(sizeBytes, ageMillis) : 0
    return [
      diskExtId,
      { diskExtId, containerExtId: file.storageContainer?.extId as string, sizeBytes, writtenBytes },
    ] as const
  })
  return { spec, clusterExtId: vm.cluster?.extId as string, files: new Map(files) }
}

export function sourceVersion(version: VersionEntity, { nics, guestCustomization: _, ...others }: Overrides): Source {
  const clusterExtId = firstClusterOf(version)
  const replacing = nics === undefined ? {} : { nics: nics.map((nic) => readNic(nic, () => '')) }
  return {
    spec: { ...(version.vmSpec as VmEntity), ...(others as Partial<VmEntity>), ...replacing },
    clusterExtId,
    files: new Map(copiesOn(version, clusterExtId).map((copy) => [copy.fileExtId, copy])),
  }
}

/** Drops ids, MAC addresses, addresses and firmware files, which are distinct for every VM. */
export function specOf(
  spec: VmEntity,
  fileIds: ReadonlyMap<string, string>,
  newId: () => string,
): VersionEntity['vmSpec'] {
  const { cluster: _cluster, host: _host, ...body } = bodyLike({ spec, shownAs: vmDisk })
  const { nvramDevice: _nvram, ...bootConfig } = (body.bootConfig ?? {}) as { nvramDevice?: unknown }
  const fileDisks = (spec.disks ?? []).filter((disk) => fileOf(disk) !== undefined)
  const captured = {
    ...body,
    bootConfig,
    vtpmConfig: { isVtpmEnabled: spec.vtpmConfig?.isVtpmEnabled === true },
    disks: fileDisks.map((disk, index) => {
      const diskExtId = fileIds.get(disk.extId as string) as string
      const { dataSource: _source, ...backing } = fileOf(body.disks?.[index] as DiskEntity) ?? {}
      return { ...body.disks?.[index], extId: diskExtId, backingInfo: { ...backing, diskExtId } }
    }),
    cdRoms: (body.cdRoms ?? []).map((drive, index) => {
      const diskExtId = fileIds.get(spec.cdRoms?.[index]?.backingInfo?.diskExtId ?? '')
      const backing = diskExtId === undefined ? {} : { backingInfo: { ...drive.backingInfo, diskExtId } }
      return { ...drive, extId: newId(), ...backing }
    }),
    nics: (body.nics ?? []).map((nic) => readNic(nic, newId)),
    serialPorts: (body.serialPorts ?? []).map((port) => ({ ...port, extId: newId() })),
  }
  const isEmpty = (value: unknown): boolean => value === undefined || (Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(captured).filter(([, value]) => !isEmpty(value))) as VersionEntity['vmSpec']
}

export function shownSpec({ vmSpec }: Pick<VersionEntity, 'vmSpec'>): Pick<VersionEntity, 'vmSpec'> {
  return vmSpec?.nics === undefined ? {} : { vmSpec: { ...vmSpec, nics: vmSpec.nics.map(shownNic) } }
}
