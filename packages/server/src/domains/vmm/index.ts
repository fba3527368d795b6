/** Handlers of the namespace vmm: one line per kind, sorted. */

import { image } from './content/image/image.ts'
import { ova } from './content/ova/ova.ts'
import { template } from './content/template/template.ts'
import { templateVersion } from './content/template/template-version.ts'
import { vmAntiAffinityPolicy } from './policies/vm-anti-affinity-policy.ts'
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
  image,
  nic,
  ova,
  serialPort,
  template,
  templateVersion,
  vm,
  vmAntiAffinityPolicy,
  vmDiskStats,
  vmNicStats,
  vmStats,
}
