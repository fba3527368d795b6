/** Handlers for the kinds of external hypervisors: one line per kind, sorted. */
import { externGuestTools } from './guest-tools.ts'
import { externVm } from './vm.ts'
import { externVmDiskStats } from './vm-disk-stats.ts'
import { externVmNicStats } from './vm-nic-stats.ts'
import { externVmStats } from './vm-stats.ts'

export const extern = {
  guestTools: externGuestTools,
  vm: externVm,
  vmDiskStats: externVmDiskStats,
  vmNicStats: externVmNicStats,
  vmStats: externVmStats,
}
