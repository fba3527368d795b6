/** Handlers of the namespace vmm: one line per kind, sorted. */

import { image } from './content/image/image.ts'
import { imagePlacementPolicy } from './content/policies/image-placement-policy.ts'
import { imageRateLimitPolicy } from './content/policies/image-rate-limit-policy.ts'
import { templatePlacementPolicy } from './content/policies/template-placement-policy.ts'
import { legacyVmAntiAffinityPolicy } from './policies/legacy-vm-anti-affinity-policy.ts'
import { vmStartupPolicy } from './policies/startup/vm-startup-policy.ts'
import { vmAntiAffinityPolicy } from './policies/vm-anti-affinity-policy.ts'
import { vmHostAffinityPolicy } from './policies/vm-host-affinity-policy.ts'
import { guestTools } from './vm/guest/guest-tools.ts'
import { vm } from './vm/index.ts'
import { cdRom } from './vm/parts/cd-rom.ts'
import { disk } from './vm/parts/disk.ts'
import { gpu } from './vm/parts/gpu.ts'
import { nic } from './vm/parts/nic.ts'
import { pcieDevice } from './vm/parts/pcie-device.ts'
import { serialPort } from './vm/parts/serial-port.ts'
import { vmRecoveryPoint } from './vm/recovery-points/index.ts'
import { vmDiskStats } from './vm/statistics/vm-disk-stats.ts'
import { vmNicStats } from './vm/statistics/vm-nic-stats.ts'
import { vmStats } from './vm/statistics/vm-stats.ts'

export const vmm = {
  cdRom,
  disk,
  gpu,
  guestTools,
  image,
  imagePlacementPolicy,
  imageRateLimitPolicy,
  legacyVmAntiAffinityPolicy,
  nic,
  pcieDevice,
  serialPort,
  templatePlacementPolicy,
  vm,
  vmAntiAffinityPolicy,
  vmDiskStats,
  vmHostAffinityPolicy,
  vmNicStats,
  vmStartupPolicy,
  vmRecoveryPoint,
  vmStats,
}
