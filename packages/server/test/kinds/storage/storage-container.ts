/** Requests by which suites that cover every kind reach storage containers of the older interface. */
import { type Creation, nativeCluster, type OrderCase, unknown } from '../kind.ts'

const container = { name: 'by-order', replicationFactor: 1 }

export const creations: Readonly<Record<string, Creation>> = {
  'storage.addStorageContainerForCluster': {
    path: '/storage/v4.0.a3/config/storage-containers',
    body: (name) => ({ name }),
    clusterId: nativeCluster,
  },
}

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'storage.addStorageContainerForCluster': {
    path: '/config/storage-containers',
    body: { ...container, affinityHostUuid: unknown },
    broken: { isNfsWhitelistInherited: true, nfsWhitelistAddress: [{}] },
  },
}
