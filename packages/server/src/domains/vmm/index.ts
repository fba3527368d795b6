/** Handlers of the namespace vmm: one line per kind, sorted. */
import { cdRom } from './cd-rom.ts'
import { disk } from './disk.ts'
import { image } from './image.ts'
import { nic } from './nic.ts'
import { vm } from './vm/index.ts'
import { vmDiskStats } from './vm-disk-stats.ts'
import { vmNicStats } from './vm-nic-stats.ts'
import { vmStats } from './vm-stats.ts'

export const vmm = {
  cdRom,
  disk,
  image,
  nic,
  vm,
  vmDiskStats,
  vmNicStats,
  vmStats,
}
