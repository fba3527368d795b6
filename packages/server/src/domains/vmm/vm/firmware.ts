/** Machine type and the files that firmware needs. Source: behaviour vmm.md 1.1. */
import { canonicalJson } from '../../../core/idempotency.ts'
import { type FileBacking, isUefi, nvramOf, type VmBody, type VmEntity } from '../../virtual-machines/entity.ts'

const nvramBytes = 540_672

export function withMachineType<T extends VmBody>(body: T): T {
  if (body.machineType !== undefined) return body
  const isSecure = (body.bootConfig as { isSecureBootEnabled?: boolean } | undefined)?.isSecureBootEnabled === true
  return { ...body, machineType: isSecure || body.vtpmConfig?.isVtpmEnabled === true ? 'Q35' : 'PC' }
}

/** Path of the NVRAM file in the body of a VM. */
export const nvramPath = 'bootConfig/nvramDevice/backingStorageInfo'

/** Files that a configuration may need beside its disks. The ids are generated even if no file is needed. */
export interface FirmwareFiles {
  readonly nvramExtId: string
  readonly tpmExtId: string
  readonly containerExtId: string
  /** The file that the body describes; it replaces a former one. */
  readonly nvram?: FileBacking
}

/** Files for UEFI variables and the state of a virtual TPM; those of `former` are kept. */
export function withFirmware(
  config: VmBody,
  files: FirmwareFiles,
  former?: VmEntity,
): Pick<VmEntity, 'bootConfig' | 'vtpmConfig'> {
  const storageContainer = { extId: files.containerExtId }
  const created = { diskExtId: files.nvramExtId, diskSizeBytes: nvramBytes, storageContainer }
  const backingStorageInfo = files.nvram ?? (former && nvramOf(former)) ?? created
  const vtpmDevice = former?.vtpmConfig?.vtpmDevice ?? {
    diskExtId: files.tpmExtId,
    backingFirmwareDiskStorageInfo: { storageContainer },
  }
  const boot = config.bootConfig as VmEntity['bootConfig']
  return {
    bootConfig: isUefi(config) ? ({ ...boot, nvramDevice: { backingStorageInfo } } as VmEntity['bootConfig']) : boot,
    vtpmConfig:
      config.vtpmConfig?.isVtpmEnabled === true
        ? { isVtpmEnabled: true, version: '2.0', vtpmDevice }
        : { isVtpmEnabled: false },
  }
}

/** The NVRAM file with the size that it has if the body names none. */
export const sizedNvram = (backing: FileBacking): FileBacking => ({
  ...backing,
  diskSizeBytes: backing.diskSizeBytes || nvramBytes,
})

/** Whether the file of the VM is not the one that the body describes. A client may send back what it has read. */
export function requestsOtherNvram(vm: VmEntity, body: VmBody): boolean {
  const [requested, own] = [nvramOf(body), nvramOf(vm)]
  if (requested === undefined || !isUefi(body)) return false
  const fields = ['dataSource', 'diskSizeBytes', 'storageConfig', 'storageContainer'] as const
  return fields.some(
    (field) =>
      requested[field] !== undefined &&
      canonicalJson(requested[field] as object) !== canonicalJson(own?.[field] ?? null),
  )
}
