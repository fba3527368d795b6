/** Requests by which suites that cover every kind reach storage containers. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type Creation, nativeCluster, type OrderCase, unknown } from '../kind.ts'

const container = { name: 'by-order', replicationFactor: 1 }

export const creations: Readonly<Record<string, Creation>> = {
  'clustermgmt.createStorageContainer': {
    path: '/clustermgmt/v4.2/config/storage-containers',
    body: (name) => ({ name }),
    clusterId: nativeCluster,
  },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'clustermgmt.createStorageContainer': {
    path: '/config/storage-containers',
    body: { ...container, affinityHostExtId: unknown },
    broken: { isInternal: true },
  },
  'clustermgmt.updateStorageContainerById': {
    path: `/config/storage-containers/${seedId('container/hp-native-01/db-gold')}`,
    body: { name: 'db-gold', externalStorageExtId: unknown },
    broken: { logicalAdvertisedCapacityBytes: 1, logicalExplicitReservedCapacityBytes: 2 },
  },
}
