/** Source: catalogue vmm.json; behaviour vmm.md 1.1. */
import * as s from '../../schema.ts'
import { DiskAddress, VmDisk } from './parts/disk.ts'
import { macAddress } from './parts/nic.ts'

const order = {
  bootDevice: s.optional(
    s.oneOf(
      s.object('vmm.v4.ahv.config.BootDeviceDisk', { diskAddress: s.optional(DiskAddress) }),
      s.object('vmm.v4.ahv.config.BootDeviceNic', { macAddress: s.optional(macAddress()) }),
    ),
  ),
  bootOrder: s.withDefault(s.arrayOf(s.enumeration(['CDROM', 'DISK', 'NETWORK']), { maxItems: 3, uniqueItems: true }), [
    'CDROM',
    'DISK',
    'NETWORK',
  ]),
} as const

export const LegacyBoot = s.object('vmm.v4.ahv.config.LegacyBoot', order)
export const UefiBoot = s.object('vmm.v4.ahv.config.UefiBoot', {
  ...order,
  isSecureBootEnabled: s.withDefault(s.boolean(), false),
  nvramDevice: s.optionalObject('vmm.v4.ahv.config.NvramDevice', { backingStorageInfo: s.optional(VmDisk) }),
})
