/** Rules between the fields of a body; none needs the store. Source: behaviour vmm.md 1.1 (cross-field), 1.2 to 1.5, 3.9. */

import { ApiError } from '../../../core/api-error.ts'
import {
  type DiskEntity,
  type FileBacking,
  isUefi,
  nvramOf,
  type VmBody,
  vcpusOf,
} from '../../virtual-machines/entity.ts'
import { fault } from '../../virtual-machines/fault.ts'
import { deviceFaults } from './parts/devices.ts'
import { serialFaults } from './parts/serial-port.ts'

const MiB = 1024 ** 2
const TiB = 1024 ** 4
const maximumVcpus = 240
const maximumMemoryBytes = 16 * TiB
const maximumDiskBytes = 64 * TiB
const maximumNvramBytes = 64 * MiB
const externalType = 'vmm.v4.ahv.config.ExternalDataSourceDiskReference'
export const maximumCustomAttributes = 64

/** A name is stored as it is sent. `../` is refused, because other programs may use the name as a path. */
export const nameFaults = ({ name }: { readonly name?: string }): ApiError[] =>
  name?.includes('../') === true ? [fault('name', 'a name without "../"', name)] : []

export function configurationFaults(vm: VmBody): ApiError[] {
  return [
    ...nameFaults(vm),
    ...memoryFaults(vm),
    ...topologyFaults(vm),
    ...firmwareFaults(vm),
    ...busFaults(vm),
    ...deviceFaults(vm),
    ...serialFaults(vm),
    ...attributeFaults('customAttributes', vm.customAttributes),
    ...(vm.disks ?? []).flatMap((disk, index) => diskFaults(disk, `disks[${index}]/`)),
    ...(vm.cdRoms ?? []).flatMap(({ backingInfo }, index) =>
      backingInfo === undefined ? [] : fileFaults(backingInfo, `cdRoms[${index}]/`),
    ),
    ...(vm.categories ?? []).flatMap(({ extId }, index) =>
      extId === undefined ? [fault(`categories[${index}]/extId`, 'the id of a category', extId)] : [],
    ),
    ...customizationFaults(vm),
    ...timezoneFaults(vm),
  ]
}

/** Rules of an update's body alone: fields that it leaves out may keep their value. */
export const changeFaults = (body: VmBody): ApiError[] => [
  ...nameFaults(body),
  ...(body.memorySizeBytes === undefined ? [] : memoryFaults(body)),
  ...topologyFaults(body),
  ...customizationFaults(body),
  ...timezoneFaults(body),
]

/** Rules of overrides alone; the rules between fields are checked with the fields of the source. */
export const overrideFaults = (body: Partial<VmBody>): ApiError[] => [
  ...nameFaults(body),
  ...(body.memorySizeBytes === undefined ? [] : memoryFaults(body as VmBody)),
  ...customizationFaults(body as VmBody),
]

function memoryFaults({ memorySizeBytes: memory }: VmBody): ApiError[] {
  if (memory === undefined || memory % MiB !== 0 || memory < 64 * MiB) {
    return [fault('memorySizeBytes', 'a multiple of 1 MiB, at least 64 MiB', memory)]
  }
  return memory > maximumMemoryBytes
    ? [new ApiError('VMM_LIMIT_EXCEEDED', { limit: 'memorySizeBytes', maximum: maximumMemoryBytes, found: memory })]
    : []
}

function topologyFaults(vm: VmBody): ApiError[] {
  const faults: ApiError[] = []
  const vcpus = vcpusOf(vm)
  if (vcpus > maximumVcpus) {
    faults.push(fault('numSockets', `sockets x cores x threads of at most ${maximumVcpus}`, vcpus))
  }
  if ((vm.numNumaNodes ?? 0) > (vm.numSockets ?? 1)) {
    faults.push(fault('numNumaNodes', `at most numSockets (${vm.numSockets ?? 1})`, vm.numNumaNodes))
  }
  if (vm.isMemoryOvercommitEnabled === true && vm.isVcpuHardPinningEnabled === true) {
    faults.push(fault('isMemoryOvercommitEnabled', 'false with isVcpuHardPinningEnabled', true))
  }
  return faults
}

function firmwareFaults(vm: VmBody): ApiError[] {
  const faults: ApiError[] = []
  const isSecure = (vm.bootConfig as { isSecureBootEnabled?: boolean } | undefined)?.isSecureBootEnabled === true
  if (isSecure && vm.machineType !== 'Q35') faults.push(fault('machineType', 'Q35 with secure boot', vm.machineType))
  if (vm.vtpmConfig?.isVtpmEnabled === true && !isUefi(vm)) {
    faults.push(fault('vtpmConfig/isVtpmEnabled', 'false without UEFI boot', true))
  }
  return [...faults, ...nvramFaults(vm)]
}

function nvramFaults(vm: VmBody): ApiError[] {
  const backing = nvramOf(vm)
  if (backing === undefined) return []
  const isExternal = backing.dataSource?.reference?.$objectType === externalType
  const path = 'bootConfig/nvramDevice/backingStorageInfo/diskSizeBytes'
  if (isExternal && backing.diskSizeBytes === undefined)
    return [fault(path, 'the size of the file in the repository', undefined)]
  const { diskSizeBytes = 0 } = backing
  return diskSizeBytes > maximumNvramBytes ? [fault(path, 'at most 64 MiB', diskSizeBytes)] : []
}

const busFaults = (vm: VmBody): ApiError[] => [
  ...(vm.disks ?? []).flatMap(({ diskAddress }, index) =>
    busFaultsAt(vm, diskAddress?.busType ?? 'SCSI', `disks[${index}]/diskAddress/busType`),
  ),
  ...(vm.cdRoms ?? []).flatMap(({ diskAddress }, index) =>
    busFaultsAt(vm, diskAddress?.busType, `cdRoms[${index}]/diskAddress/busType`),
  ),
]

export function busFaultsAt(
  vm: Pick<VmBody, 'machineType' | 'isScsiControllerEnabled'>,
  bus: string | undefined,
  path: string,
): ApiError[] {
  if (bus === 'IDE' && vm.machineType === 'Q35') return [fault(path, 'another bus on machine type Q35', bus)]
  if (bus === 'SPAPR' && vm.machineType !== 'PSERIES') return [fault(path, 'another bus than on PSERIES', bus)]
  if (bus === 'SCSI' && vm.isScsiControllerEnabled === false) {
    return [fault(path, 'another bus without the SCSI controller (isScsiControllerEnabled)', bus)]
  }
  return []
}

/** `path`: empty, or that of the disk with a slash at the end. */
export function diskFaults(disk: Omit<DiskEntity, 'extId'>, path: string): ApiError[] {
  const faults = attributeFaults(`${path}customAttributes`, disk.customAttributes)
  const backing = disk.backingInfo as Record<string, unknown> | undefined
  if (backing === undefined) return [...faults, fault(`${path}backingInfo`, 'a disk or a volume group', undefined)]
  if (backing['volumeGroupExtId'] !== undefined) {
    const bus = disk.diskAddress?.busType ?? 'SCSI'
    if (bus !== 'SCSI') faults.push(fault(`${path}diskAddress/busType`, 'SCSI for a volume group', bus))
    if (disk.customAttributes !== undefined)
      faults.push(fault(`${path}customAttributes`, 'none for a volume group', disk.customAttributes))
    return faults
  }
  return [...faults, ...fileFaults(backing, path)]
}

export function fileFaults(backing: FileBacking, path: string): ApiError[] {
  const { diskSizeBytes, dataSource } = backing
  const isExternal = dataSource?.reference?.$objectType === externalType
  if (isExternal && diskSizeBytes === undefined)
    return [fault(`${path}backingInfo/diskSizeBytes`, 'the size of the disk in the repository', undefined)]
  const isSized = diskSizeBytes !== undefined || dataSource !== undefined
  return isSized ? sizeFaults(backing, path) : [fault(`${path}backingInfo`, 'diskSizeBytes or dataSource', backing)]
}

export const sizeFaults = ({ diskSizeBytes = 0 }: FileBacking, path: string): ApiError[] =>
  diskSizeBytes > maximumDiskBytes ? [fault(`${path}backingInfo/diskSizeBytes`, 'at most 64 TiB', diskSizeBytes)] : []

export function attributeFaults(path: string, attributes: readonly string[] | undefined): ApiError[] {
  if (attributes === undefined) return []
  if (attributes.length > maximumCustomAttributes) {
    return [
      new ApiError('VMM_LIMIT_EXCEEDED', { limit: path, maximum: maximumCustomAttributes, found: attributes.length }),
    ]
  }
  const keys = attributes.map((text) => text.slice(0, text.indexOf(':')))
  return attributes.flatMap((text, index) => {
    if (!text.includes(':')) return [fault(`${path}[${index}]`, 'key:value', text)]
    return keys.indexOf(keys[index] as string) === index
      ? []
      : [fault(`${path}[${index}]`, 'one value for each key', text)]
  })
}

const base64 = /^(?:[A-Za-z0-9+/]\s*)*={0,2}\s*$/

interface Script {
  readonly $objectType?: string
  readonly value?: unknown
}

interface Scripts {
  readonly $objectType?: string
  readonly metadata?: string
  readonly cloudInitScript?: Script
  readonly sysprepScript?: Script
}

const customizationFaults = ({ guestCustomization }: VmBody): ApiError[] =>
  guestCustomization === undefined ? [] : scriptFaults(guestCustomization, 'guestCustomization/')

/** The contract checks lengths. Faults never show the content: it may contain secrets. @param prefix path of the params */
export function scriptFaults(params: { readonly config?: Scripts | undefined }, prefix: string): ApiError[] {
  const { config } = params
  const texts: [string, unknown][] = [
    ['metadata', config?.metadata],
    ['cloudInitScript/value', config?.cloudInitScript?.value],
    ['sysprepScript/value', config?.sysprepScript?.value],
  ]
  return texts
    .filter(([, text]) => typeof text === 'string' && !base64.test(text))
    .map(([path]) => fault(`${prefix}config/${path}`, 'base64', 'a text that is not'))
}

const timezoneFaults = ({ hardwareClockTimezone: name }: VmBody): ApiError[] =>
  name === undefined || isTimezone(name)
    ? []
    : [fault('hardwareClockTimezone', 'a name of the IANA time zone database', name)]

export function isTimezone(name: string): boolean {
  // Fast path for the default: constructing a DateTimeFormat costs more than all other rules together.
  if (name === 'UTC') return true
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** The VM must have the boot device. Call it once disks have addresses and NICs MAC addresses. */
export function bootDeviceFaults(vm: VmBody): ApiError[] {
  const device = vm.bootConfig?.bootDevice as { diskAddress?: Address; macAddress?: string } | undefined
  if (device === undefined) return []
  const { diskAddress, macAddress } = device
  if (macAddress !== undefined) {
    const isOwn = (vm.nics ?? []).some(
      (nic) => nic.backingInfo?.macAddress === macAddress.toLowerCase().replaceAll('-', ':'),
    )
    return isOwn ? [] : [fault('bootConfig/bootDevice/macAddress', 'the MAC address of a NIC of this VM', macAddress)]
  }
  if (diskAddress === undefined) return [fault('bootConfig/bootDevice', 'diskAddress or macAddress', device)]
  const own = [...(vm.disks ?? []), ...(vm.cdRoms ?? [])]
  const isOwn = own.some(
    (disk) => disk.diskAddress?.busType === diskAddress.busType && disk.diskAddress?.index === diskAddress.index,
  )
  return isOwn ? [] : [fault('bootConfig/bootDevice/diskAddress', 'the address of a disk of this VM', diskAddress)]
}

type Address = { busType?: string; index?: number }
