import { type EntityOf, list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { storageContainerReaders } from './roles.ts'

/** One row per ESX host, from mount to unmount. Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.9, 2. */
export const DataStore = resource('clustermgmt.v4.config.DataStore', {
  fields: {
    datastoreName: s.readOnly(s.text({ maxLength: 255 })),
    containerName: s.visibleWith('StorageContainer', 'containerExtId', s.readOnly(s.text({ maxLength: 75 }))),
    containerExtId: s.readOnly(s.uuid()),
    hostExtId: s.readOnly(s.uuid()),
    hostIpAddress: s.readOnly(s.text()),
    capacityBytes: s.readOnly(s.integer()),
    freeSpaceBytes: s.readOnly(s.integer()),
    vmNames: s.readOnly(s.arrayOf(s.text(), { maxItems: 5000 })),
  },
  title: 'datastore',
  internal: { clusterExtId: s.uuid(), isReadOnly: s.boolean(), targetPath: s.text() },
  iam: { name: 'datastoreName', cluster_uuid: 'clusterExtId' },
  parent: { param: 'clusterExtId', kind: 'Cluster', field: 'clusterExtId' },
  indexed: ['containerExtId', 'hostExtId', 'datastoreName'],
  unique: [{ fields: ['hostExtId', 'datastoreName'] }],
  ofCluster: { by: 'clusterExtId' },
})
export type DataStore = EntityOf<typeof DataStore>

export const dataStoreOperations = {
  listDataStoresByClusterId: list('/config/clusters/{clusterExtId}/storage-containers/datastores', DataStore, {
    envelope: 'clustermgmt.v4.config.ListDataStoresByClusterIdApiResponse',
    roles: storageContainerReaders,
    rateLimit: perSecond(20, 25, 25, 25),
    filter: ['containerExtId'],
  }),
}
