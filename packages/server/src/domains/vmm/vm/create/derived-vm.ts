/** A new VM from configuration and files of another one, with overrides. Source: vmm.md 1.1 (Clone), 1.6 (restore), 1.10, 1.11. */
import type { AnySchema } from '@hyperplane/contract'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { type ApiError, refuseAll } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import type { WriteContext } from '../../../context.ts'
import {
  type CdRomEntity,
  type DiskEntity,
  fileOf,
  type NicEntity,
  nvramOf,
  type SourceReference,
  type VmBody,
  type VmEntity,
  vcpusOf,
} from '../../../virtual-machines/entity.ts'
import { pairOf, virtualFunctionOf } from '../../../virtual-machines/virtual-functions.ts'
import { nicBodyFaults } from '../parts/nics.ts'
import { misplaced } from '../parts/slots.ts'
import { configurationFaults } from '../rules.ts'
import { type Derived, type NewVm, newVm, type VmOrigin } from './create.ts'
import type { ResolvedSource } from './disk-sources.ts'
import { slotWishes } from './plan-disks.ts'

type Address = { readonly busType?: string; readonly index?: number }

export interface Blueprint {
  /** Configuration, disks, drives and NICs; the ids of its parts are not used. Disks that represent a volume group are left out. */
  readonly spec: VmEntity
  /** The content of a file of `spec`. */
  readonly contentOf: (fileExtId: string) => ResolvedSource
  /** Data source of the disk that copies a file of `spec`; undefined: none is shown. */
  readonly shownAs: (fileExtId: string) => SourceReference | undefined
}

/** Fields that the new VM has; a list, as `nics`, replaces the whole list. */
export type Overrides = Partial<VmBody>

/** Fields of a VM that say who it is or where it runs, not how it is configured. */
const identity = new Set<string>(['biosUuid', 'guestCustomization', 'host', 'ownershipInfo', 'source'])

const configuration = Object.entries(Vm.schema.fields as Readonly<Record<string, AnySchema>>)
  .filter(([name, field]) => field.readOnly !== true && !identity.has(name))
  .map(([name]) => name)

/** Plans the VM and starts the task that makes it. @throws ApiError as `derive`; 404; 409; 422 */
export const deriveVm = <I extends NewVm>(
  ctx: WriteContext,
  blueprint: Blueprint,
  overrides: Overrides,
  origin: Pick<VmOrigin<I>, 'task' | 'input' | 'options' | 'internal' | 'isPlannedAgain'>,
): Promise<TaskStarted> => {
  const { body, ...derived } = derive(blueprint, overrides)
  return newVm(ctx, body, { ...origin, ...derived })
}

/** @throws ApiError 400 for overrides that do not fit the configuration, as paths of the overrides */
export function derive(blueprint: Blueprint, overrides: Overrides): Derived & { readonly body: VmBody } {
  refuseAll(derivedFaults(blueprint, overrides))
  const { spec, contentOf } = blueprint
  const body = derivedBody(blueprint, overrides)
  const files = [
    ...(overrides.disks === undefined ? fileDisksOf(spec) : []).map((disk, index): [string, string] => [
      `disks[${index}]`,
      fileIdOf(disk),
    ]),
    ...(overrides.cdRoms === undefined ? (spec.cdRoms ?? []) : []).flatMap(
      ({ backingInfo }, index): [string, string][] =>
        backingInfo === undefined ? [] : [[`cdRoms[${index}]`, backingInfo.diskExtId as string]],
    ),
  ]
  const contents = new Map(files.map(([path, fileExtId]) => [`${path}/backingInfo`, contentOf(fileExtId)]))
  const isBootKept = overrides.bootConfig === undefined && overrides.nics === undefined
  return { body, contents, bootNic: isBootKept ? bootNicOf(spec) : undefined }
}

export function derivedFaults(blueprint: Blueprint, overrides: Overrides): ApiError[] {
  const body = derivedBody(blueprint, overrides)
  return [
    ...configurationFaults(body),
    ...misplaced(slotWishes(body)),
    ...(body.nics ?? []).flatMap((nic, index) => nicBodyFaults(nic, `nics[${index}]/`, vcpusOf(body))),
  ]
}

function derivedBody({ spec, shownAs }: Blueprint, overrides: Overrides): VmBody {
  // A boot device is kept only if it is among the disks and drives that the new VM has.
  const { disks = spec.disks, cdRoms = spec.cdRoms } = overrides as Partial<VmEntity>
  return { ...bodyLike({ spec: { ...spec, disks, cdRoms } as VmEntity, shownAs }), ...overrides }
}

const fileDisksOf = ({ disks = [] }: VmEntity): DiskEntity[] => disks.filter((disk) => fileOf(disk) !== undefined)
const fileIdOf = (disk: DiskEntity | undefined): string => disk?.extId as string

/** The body of a VM with the configuration of `spec`. Its NICs get new MAC addresses, and new addresses where they have some. */
export function bodyLike({ spec, shownAs }: Pick<Blueprint, 'spec' | 'shownAs'>): VmBody {
  const plain = Object.fromEntries(configuration.map((name) => [name, spec[name as keyof VmEntity]]))
  const present = Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined)) as VmBody
  return {
    ...present,
    bootConfig: bootConfigOf(spec),
    disks: fileDisksOf(spec).map((disk) => diskLike(disk, shownAs)),
    cdRoms: (spec.cdRoms ?? []).map(driveLike),
    nics: (spec.nics ?? []).map(nicLike),
    serialPorts: (spec.serialPorts ?? []).map(({ extId, index, isConnected }) => ({ extId, index, isConnected })),
    gpus: (spec.gpus ?? []).map(({ extId, mode, vendor, deviceId }) => ({ extId, mode, vendor, deviceId })),
    pcieDevices: (spec.pcieDevices ?? []).map(({ extId, backingInfo }) => ({ extId, backingInfo })),
    ...(spec.pinnedHostExtId === undefined ? {} : { host: { extId: spec.pinnedHostExtId } }),
  }
}

/** Drops a boot device that the new VM lacks: a volume group, or a NIC, which gets another MAC address. */
function bootConfigOf(spec: VmEntity): VmEntity['bootConfig'] {
  const boots = withoutNvram(spec)
  const { bootDevice, ...boot } = boots ?? {}
  const address = (bootDevice as { diskAddress?: Address } | undefined)?.diskAddress
  const own = [...fileDisksOf(spec), ...(spec.cdRoms ?? [])]
  const isKept =
    address !== undefined &&
    own.some(({ diskAddress: at }) => at?.busType === address.busType && at?.index === address.index)
  return isKept ? boots : (boot as VmEntity['bootConfig'])
}

/** The new VM has an NVRAM file of its own, of the same size. */
function withoutNvram(spec: VmEntity): VmEntity['bootConfig'] {
  const { diskSizeBytes } = nvramOf(spec) ?? {}
  if (diskSizeBytes === undefined) return spec.bootConfig
  return { ...spec.bootConfig, nvramDevice: { backingStorageInfo: { diskSizeBytes } } } as VmEntity['bootConfig']
}

function bootNicOf({ bootConfig, nics = [] }: VmEntity): number | undefined {
  const device = bootConfig?.bootDevice as { readonly macAddress?: string } | undefined
  const macAddress = device?.macAddress?.toLowerCase().replaceAll('-', ':')
  const index = nics.findIndex(({ backingInfo }) => backingInfo?.macAddress === macAddress)
  return macAddress === undefined || index < 0 ? undefined : index
}

function diskLike(disk: DiskEntity, shownAs: Blueprint['shownAs']): DiskEntity {
  const { diskSizeBytes, storageContainer, storageConfig } = fileOf(disk) ?? {}
  const reference = shownAs(fileIdOf(disk))
  const backingInfo = {
    $objectType: 'vmm.v4.ahv.config.VmDisk',
    diskSizeBytes,
    storageContainer,
    ...(storageConfig === undefined ? {} : { storageConfig }),
    ...(reference === undefined ? {} : { dataSource: { reference } }),
  }
  const { diskAddress, customAttributes } = disk
  return { diskAddress, backingInfo, ...(customAttributes === undefined ? {} : { customAttributes }) } as DiskEntity
}

function driveLike({ extId, diskAddress, backingInfo }: CdRomEntity): CdRomEntity {
  if (backingInfo === undefined) return { extId, diskAddress }
  const { diskExtId: _, ...content } = backingInfo
  return { extId, diskAddress, backingInfo: content }
}

export function nicLike(nic: NicEntity): NicEntity {
  const { extId, backingInfo, networkInfo } = nic
  const { macAddress: _mac, ...backing } = backingInfo ?? {}
  const { ipv4Config, ...network } = networkInfo ?? {}
  const held = ipv4Config?.ipAddress !== undefined || ipv4Config?.shouldAssignIp === true
  const addressed = { ...network, ipv4Config: { shouldAssignIp: held } }
  return withPair(nic, { extId, backingInfo: backing, networkInfo: addressed } as NicEntity)
}

/** From the body; NICs with a virtual function also have the newer fields, which have priority. */
export function withPair(former: NicEntity, body: NicEntity): NicEntity {
  const virtualFunction = virtualFunctionOf(former)
  if (virtualFunction === undefined) return body
  return { ...body, ...pairOf(virtualFunction, body.backingInfo ?? {}, body.networkInfo ?? {}) }
}
