/** The kinds of the namespace by stem: one line per kind, sorted. */

export { bmcInfoOperations as 'bmc-info' } from './bmc-info.ts'
export { clusterOperations as cluster } from './cluster.ts'
export { clusterProfileOperations as 'cluster-profile' } from './cluster-profile.ts'
export { clusterStatsOperations as 'cluster-stats' } from './cluster-stats.ts'
export { dataStoreOperations as 'data-store' } from './data-store.ts'
export { gpuProfileOperations as 'gpu-profile' } from './gpu-profile.ts'
export { hostOperations as host } from './host.ts'
export { hostMaintenanceOperations as 'host-maintenance' } from './host-maintenance.ts'
export { hostStatsOperations as 'host-stats' } from './host-stats.ts'
export { pcieDeviceOperations as 'pcie-device' } from './pcie-device.ts'
export { storageContainerOperations as 'storage-container' } from './storage-container.ts'
