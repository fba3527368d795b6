/**
 * Boot configuration of a virtual machine: firmware, device, order. Source: catalogue vmm.json; behaviour vmm.md 1.1.
 */
import { arrayOf, boolean, enumeration, object, oneOf, optional, withDefault } from '../../schema.ts'
import { DiskAddress, VmDisk } from './parts/disk.ts'
import { macAddress } from './parts/nic.ts'

const order = {
  bootDevice: optional(
    oneOf(
      object('vmm.v4.ahv.config.BootDeviceDisk', { diskAddress: optional(DiskAddress) }),
      object('vmm.v4.ahv.config.BootDeviceNic', { macAddress: optional(macAddress()) }),
    ),
  ),
  bootOrder: withDefault(arrayOf(enumeration(['CDROM', 'DISK', 'NETWORK']), { maxItems: 3, uniqueItems: true }), [
    'CDROM',
    'DISK',
    'NETWORK',
  ]),
} as const

export const LegacyBoot = object('vmm.v4.ahv.config.LegacyBoot', order)
export const UefiBoot = object('vmm.v4.ahv.config.UefiBoot', {
  ...order,
  isSecureBootEnabled: withDefault(boolean(), false),
  nvramDevice: optional(object('vmm.v4.ahv.config.NvramDevice', { backingStorageInfo: optional(VmDisk) })),
})
