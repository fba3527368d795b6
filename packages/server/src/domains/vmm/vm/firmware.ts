/** Machine type and the files that firmware needs. Source: behaviour vmm.md 1.1. */
import { isUefi, type VmBody, type VmEntity } from '../../virtual-machines/entity.ts'

const nvramBytes = 540_672

/** PC, unless secure boot or a virtual TPM needs more and the type was left open. */
export function withMachineType<T extends VmBody>(body: T): T {
  if (body.machineType !== undefined) return body
  const isSecure = (body.bootConfig as { isSecureBootEnabled?: boolean } | undefined)?.isSecureBootEnabled === true
  return { ...body, machineType: isSecure || body.vtpmConfig?.isVtpmEnabled === true ? 'Q35' : 'PC' }
}

/** Files that a configuration may need beside its disks: their ids are drawn before it is known whether they are made. */
export interface FirmwareFiles {
  readonly nvramExtId: string
  readonly tpmExtId: string
  readonly containerExtId: string
}

/** UEFI has a file of variables, a virtual TPM one of its state; those that a former configuration had stay. */
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
