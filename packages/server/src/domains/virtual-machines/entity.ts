import type { BodyOf } from '@hyperplane/contract'
import type { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { hasVirtualFunction } from './virtual-functions.ts'

export type VmEntity = Vm
export type VmBody = BodyOf<typeof Vm>
export type DiskEntity = NonNullable<VmEntity['disks']>[number]
export type CdRomEntity = NonNullable<VmEntity['cdRoms']>[number]
export type NicEntity = NonNullable<VmEntity['nics']>[number]
export type GpuEntity = NonNullable<VmEntity['gpus']>[number]
export type PcieDeviceEntity = NonNullable<VmEntity['pcieDevices']>[number]
export type SerialPortEntity = NonNullable<VmEntity['serialPorts']>[number]
/** A disk with its own file, or a CD-ROM drive that is not empty. */
export type FileBacking = NonNullable<CdRomEntity['backingInfo']>
export type SourceReference = NonNullable<NonNullable<FileBacking['dataSource']>['reference']>

const groupType = 'vmm.v4.ahv.config.ADSFVolumeGroupReference'

/** Undefined for a disk that represents a volume group. */
export function fileOf(disk: DiskEntity): FileBacking | undefined {
  return disk.backingInfo === undefined || volumeGroupOf(disk) !== undefined
    ? undefined
    : (disk.backingInfo as FileBacking)
}

export function volumeGroupOf(disk: DiskEntity): string | undefined {
  const backing = disk.backingInfo as { $objectType?: string; volumeGroupExtId?: string } | undefined
  return backing?.$objectType === groupType ? backing.volumeGroupExtId : undefined
}

export const nvramOf = ({ bootConfig }: Pick<VmBody, 'bootConfig'>): FileBacking | undefined =>
  (bootConfig as { nvramDevice?: { backingStorageInfo?: FileBacking } } | undefined)?.nvramDevice?.backingStorageInfo

/** Firmware variables (NVRAM) and the state of a virtual TPM. */
export function firmwareBackingsOf(vm: VmEntity): FileBacking[] {
  const tpm = vm.vtpmConfig?.vtpmDevice
  const storageContainer = tpm?.backingFirmwareDiskStorageInfo?.storageContainer
  const files: FileBacking[] = [nvramOf(vm) ?? {}, { diskExtId: tpm?.diskExtId, storageContainer } as FileBacking]
  return files.filter(({ diskExtId }) => diskExtId !== undefined)
}

export const firmwareFilesOf = (vm: VmEntity): string[] =>
  firmwareBackingsOf(vm).map(({ diskExtId }) => diskExtId as string)

export function filesOf(vm: VmEntity): FileBacking[] {
  const disks = (vm.disks ?? []).flatMap((disk) => fileOf(disk) ?? [])
  return [...disks, ...mediaOf(vm)]
}

/** Files in CD-ROM drives, which no guest writes to. */
export const mediaOf = ({ cdRoms = [] }: Pick<VmEntity, 'cdRoms'>): FileBacking[] =>
  cdRoms.flatMap(({ backingInfo }) => backingInfo ?? [])

/** Such a VM runs on the host of the device only, and cannot migrate. */
export const hasPassthrough = ({ gpus = [], pcieDevices = [] }: Pick<VmEntity, 'gpus' | 'pcieDevices'>): boolean =>
  gpus.some(({ mode }) => mode !== 'VIRTUAL') || pcieDevices.length > 0

/** Live migration is possible unless the VM is bound to the host, its devices or its CPUs. */
export const isMovable = (vm: VmEntity): boolean =>
  !hasPassthrough(vm) &&
  !(vm.nics ?? []).some(hasVirtualFunction) &&
  vm.isAgentVm !== true &&
  vm.isCpuPassthroughEnabled !== true &&
  vm.isVcpuHardPinningEnabled !== true

export const isUefi = (vm: Pick<VmEntity, 'bootConfig'>): boolean =>
  vm.bootConfig?.$objectType === 'vmm.v4.ahv.config.UefiBoot'

export const vcpusOf = (vm: Pick<VmEntity, 'numSockets' | 'numCoresPerSocket' | 'numThreadsPerCore'>): number =>
  (vm.numSockets ?? 1) * (vm.numCoresPerSocket ?? 1) * (vm.numThreadsPerCore ?? 1)
