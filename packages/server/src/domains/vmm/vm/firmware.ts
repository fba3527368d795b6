/** Machine type and the files that firmware needs. Source: behaviour vmm.md 1.1. */
import { isUefi, type VmBody, type VmEntity } from '../../virtual-machines/entity.ts'

const nvramBytes = 540_672

export function withMachineType<T extends VmBody>(body: T): T {
  if (body.machineType !== undefined) return body
  const isSecure = (body.bootConfig as { isSecureBootEnabled?: boolean } | undefined)?.isSecureBootEnabled === true
  return { ...body, machineType: isSecure || body.vtpmConfig?.isVtpmEnabled === true ? 'Q35' : 'PC' }
}

/** Files that a configuration may need beside its disks. The ids are generated even if no file is needed. */
export interface FirmwareFiles {
  readonly nvramExtId: string
  readonly tpmExtId: string
  readonly containerExtId: string
}

/** Adds the file for UEFI variables and the one for the state of a virtual TPM; files of `former` are kept. */
export function withFirmware(
  config: VmBody,
  files: FirmwareFiles,
  former?: VmEntity,
): Pick<VmEntity, 'bootConfig' | 'vtpmConfig'> {
  const storageContainer = { extId: files.containerExtId }
  const formerBoot = former?.bootConfig as { nvramDevice?: object } | undefined
  const nvramDevice = formerBoot?.nvramDevice ?? {
    backingStorageInfo: { diskExtId: files.nvramExtId, diskSizeBytes: nvramBytes, storageContainer },
  }
  const vtpmDevice = former?.vtpmConfig?.vtpmDevice ?? {
    diskExtId: files.tpmExtId,
    backingFirmwareDiskStorageInfo: { storageContainer },
  }
  const boot = config.bootConfig as VmEntity['bootConfig']
  return {
    bootConfig: isUefi(config) ? ({ ...boot, nvramDevice } as VmEntity['bootConfig']) : boot,
    vtpmConfig:
      config.vtpmConfig?.isVtpmEnabled === true
        ? { isVtpmEnabled: true, version: '2.0', vtpmDevice }
        : { isVtpmEnabled: false },
  }
}
