/** Handlers of the namespace clustermgmt: one line per kind, sorted. */

export { bmcInfo } from './bmc-info.ts'
export { cluster } from './cluster.ts'
export { clusterProfile } from './cluster-profile.ts'
export { clusterStats } from './cluster-stats.ts'
export { dataStore } from './data-store.ts'
export { gpuProfile } from './gpu-profile.ts'
export { host } from './host.ts'
export { hostMaintenance } from './host-maintenance/host-maintenance.ts'
export { hostStats } from './host-stats.ts'
export { pcieDevice } from './pcie-device.ts'
export { storageContainer } from './storage-container.ts'
