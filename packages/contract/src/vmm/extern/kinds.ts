/** The kinds of external VMs by stem. */
export { externGuestToolsOperations as 'guest-tools' } from './guest-tools-operations.ts'
export { externVmOperations as vm } from './vm.ts'
export { externVmDiskStatsOperations as 'vm-disk-stats' } from './vm-disk-stats.ts'
export { externVmNicStatsOperations as 'vm-nic-stats' } from './vm-nic-stats.ts'
export { externVmStatsOperations as 'vm-stats' } from './vm-stats.ts'
