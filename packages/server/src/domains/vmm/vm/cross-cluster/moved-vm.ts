import {
  type CdRomEntity,
  type DiskEntity,
  type FileBacking,
  fileOf,
  nvramOf,
  type VmEntity,
} from '../../../virtual-machines/entity.ts'
import type { Target } from './findings.ts'

export function movedVm(vm: VmEntity, { clusterExtId, hostExtId, apcConfig, nics, containers }: Target): VmEntity {
  const moved = <T extends FileBacking>(backing: T): T => {
    const extId = containers[backing.diskExtId ?? '']
    return extId === undefined ? backing : { ...backing, storageContainer: { extId } }
  }
  const onDisk = (disk: DiskEntity): DiskEntity => {
    const file = fileOf(disk)
    return file === undefined ? disk : { ...disk, backingInfo: moved(file) as DiskEntity['backingInfo'] }
  }
  const inDrive = (drive: CdRomEntity): CdRomEntity =>
    drive.backingInfo === undefined ? drive : { ...drive, backingInfo: moved(drive.backingInfo) }
  return {
    ...vm,
    cluster: { extId: clusterExtId },
    ...(hostExtId === undefined ? {} : { host: { extId: hostExtId } }),
    lastHostExtId: hostExtId,
    ...(apcConfig === undefined ? {} : { apcConfig }),
    ...(vm.disks === undefined ? {} : { disks: vm.disks.map(onDisk) }),
    ...(vm.cdRoms === undefined ? {} : { cdRoms: vm.cdRoms.map(inDrive) }),
    ...(nics.length === 0 ? {} : { nics: [...nics] }),
    ...movedFirmware(vm, moved),
  }
}

function movedFirmware(
  { bootConfig, vtpmConfig }: VmEntity,
  moved: (backing: FileBacking) => FileBacking,
): Pick<VmEntity, 'bootConfig' | 'vtpmConfig'> {
  const nvram = nvramOf({ bootConfig })
  const { vtpmDevice } = vtpmConfig ?? {}
  const former = { diskExtId: vtpmDevice?.diskExtId, ...vtpmDevice?.backingFirmwareDiskStorageInfo } as FileBacking
  const { storageContainer } = moved(former)
  return {
    bootConfig:
      nvram === undefined
        ? bootConfig
        : ({ ...bootConfig, nvramDevice: { backingStorageInfo: moved(nvram) } } as VmEntity['bootConfig']),
    vtpmConfig:
      vtpmDevice === undefined
        ? vtpmConfig
        : ({
            ...vtpmConfig,
            vtpmDevice: { ...vtpmDevice, backingFirmwareDiskStorageInfo: { storageContainer } },
          } as VmEntity['vtpmConfig']),
  }
}
