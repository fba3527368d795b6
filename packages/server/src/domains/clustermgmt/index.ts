import { bmcInfo } from './bmc-info.ts'
import { cluster } from './cluster.ts'
import { clusterProfile } from './cluster-profile.ts'
import { clusterStats } from './cluster-stats.ts'
import { dataStore } from './data-store.ts'
import { gpuProfile } from './gpu-profile.ts'
import { host } from './host.ts'
import { hostMaintenance } from './host-maintenance/host-maintenance.ts'
import { hostStats } from './host-stats.ts'
import { pcieDevice } from './pcie-device.ts'
import { storageContainer } from './storage-container.ts'

export const clustermgmt = {
  bmcInfo,
  cluster,
  clusterProfile,
  clusterStats,
  dataStore,
  gpuProfile,
  host,
  hostMaintenance,
  hostStats,
  pcieDevice,
  storageContainer,
}
