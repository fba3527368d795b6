import { bmcInfo } from './bmc-info.ts'
import { cluster } from './cluster.ts'
import { clusterProfile } from './cluster-profile.ts'
import { clusterStats } from './cluster-stats.ts'
import { dataStore } from './data-store.ts'
import { host } from './host.ts'
import { hostStats } from './host-stats.ts'
import { storageContainer } from './storage-container.ts'

export const clustermgmt = {
  bmcInfo,
  cluster,
  clusterProfile,
  clusterStats,
  dataStore,
  host,
  hostStats,
  storageContainer,
}
