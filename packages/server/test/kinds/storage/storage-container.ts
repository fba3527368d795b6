/** Requests by which suites that cover every kind reach storage containers of the older interface. */

import { hostId } from '../../support/clustermgmt.ts'
import { creating, named, updating } from '../../support/field-bases.ts'
import { older } from '../../support/volumes.ts'
import { withOwnAllowlist } from '../clustermgmt/storage-container.ts'
import { type Creation, type FieldBase, nativeCluster, type OrderCase, unknown } from '../kind.ts'

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

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'storage.addStorageContainerForCluster': [
    creating(`${older}/storage-containers`, () => ({ name: named(), clusterExtId: nativeCluster }), nativeCluster),
    creating(
      `${older}/storage-containers`,
      () => ({ name: named(), replicationFactor: 1, affinityHostUuid: hostId('hp-n01-a') }),
      nativeCluster,
    ),
  ],
  'storage.updateStorageContainer': [
    updating(`${older}/storage-containers`, () => ({ name: named() }), nativeCluster),
    withOwnAllowlist(`${older}/storage-containers`),
  ],
}
