/** Source: specification 1, 2.4, 4.5; catalogue clustermgmt.json, clustermgmt-v4.0.json. */
import { namespace } from '../operation.ts'
import { bmcInfoOperations } from './bmc-info.ts'
import { clusterOperations } from './cluster.ts'
import { clusterProfileOperations } from './cluster-profile.ts'
import { clusterStatsOperations } from './cluster-stats.ts'
import { dataStoreOperations } from './data-store.ts'
import { clustermgmtErrors } from './errors.ts'
import { gpuProfileOperations } from './gpu-profile.ts'
import { hostOperations } from './host.ts'
import { hostMaintenanceOperations } from './host-maintenance.ts'
import { hostStatsOperations } from './host-stats.ts'
import { pcieDeviceOperations } from './pcie-device.ts'
import { storageContainerOperations } from './storage-container.ts'
import { unimplemented } from './unimplemented.ts'

export const clustermgmt = namespace({
  name: 'clustermgmt',
  versions: ['v4.2', 'v4.0'],
  // The label of v4.2; the label of v4.0 is 4.0.2.
  label: '1.0.0',
  kinds: {
    'bmc-info': bmcInfoOperations,
    cluster: clusterOperations,
    'cluster-profile': clusterProfileOperations,
    'cluster-stats': clusterStatsOperations,
    'data-store': dataStoreOperations,
    'gpu-profile': gpuProfileOperations,
    host: hostOperations,
    'host-maintenance': hostMaintenanceOperations,
    'host-stats': hostStatsOperations,
    'pcie-device': pcieDeviceOperations,
    'storage-container': storageContainerOperations,
  },
  unimplemented,
  errors: clustermgmtErrors,
})
