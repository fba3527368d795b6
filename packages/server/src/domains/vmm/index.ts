/** Handlers of the namespace vmm: one line per kind, sorted. */

import { image } from './content/image/image.ts'
import { vmAntiAffinityPolicy } from './policies/vm-anti-affinity-policy.ts'
import { guestTools } from './vm/guest/guest-tools.ts'
import { vmGuestCustomizationProfile } from './vm/guest/vm-guest-customization-profile.ts'
import { vm } from './vm/index.ts'
import { cdRom } from './vm/parts/cd-rom.ts'
import { disk } from './vm/parts/disk.ts'
import { nic } from './vm/parts/nic.ts'
import { serialPort } from './vm/parts/serial-port.ts'
import { vmDiskStats } from './vm/statistics/vm-disk-stats.ts'
import { vmNicStats } from './vm/statistics/vm-nic-stats.ts'
import { vmStats } from './vm/statistics/vm-stats.ts'

export const vmm = {
  cdRom,
  disk,
  guestTools,
  image,
  nic,
  serialPort,
  vm,
  vmAntiAffinityPolicy,
  vmDiskStats,
  vmGuestCustomizationProfile,
  vmNicStats,
  vmStats,
}
