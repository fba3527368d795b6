import { DataStore as Mounted } from '../clustermgmt/data-store.ts'
import { storageContainerAdmins, storageContainerReaders } from '../clustermgmt/roles.ts'
import { StorageContainer } from '../clustermgmt/storage-container.ts'
import { action, baseFields, read } from '../operation.ts'
import * as s from '../schema.ts'
import { readRate, writeRate } from './rates.ts'

/** Source: specification 4.2; catalogue storage.json (fields); behaviour volumes-storage.md 1.8, 2. */
export const DataStore = s.object('storage.v4.config.DataStore', {
  ...baseFields,
  datastoreName: s.readOnly(s.text()),
  containerName: s.visibleWith('StorageContainer', 'containerExtId', s.readOnly(s.text())),
  containerExtId: s.readOnly(s.uuid()),
  containerId: s.readOnly(s.text()),
  hostExtId: s.readOnly(s.uuid()),
  hostId: s.readOnly(s.text()),
  hostIpAddress: s.readOnly(s.text()),
  capacity: s.readOnly(s.integer()),
  freeSpace: s.readOnly(s.integer()),
  vmNames: s.readOnly(s.arrayOf(s.text())),
})

// The union of both lists; if both are absent, all hosts. A node id is `<n>` or `<cluster uuid>::<n>`.
const nodes = {
  nodeIds: s.optional(s.arrayOf(s.text({ pattern: '^(?:[a-fA-F0-9-]{36}::)?[0-9]{1,9}$' }))),
  nodeExtIds: s.optional(s.arrayOf(s.referenceTo('Host'))),
}

export const DataStoreMount = s.object('storage.v4.config.DataStoreMount', {
  datastoreName: s.optional(s.text({ maxLength: 255 })),
  containerName: s.text({ maxLength: 75 }),
  ...nodes,
  readOnly: s.optional(s.boolean()),
  targetPath: s.optional(s.text()),
})

export const DataStoreUnmount = s.object('storage.v4.config.DataStoreUnmount', {
  datastoreName: s.text({ maxLength: 255 }),
  ...nodes,
})

const path = '/config/storage-containers'

const mutation = { of: StorageContainer, roles: storageContainerAdmins, rateLimit: writeRate }

export const dataStoreOperations = {
  getDataStores: read(`${path}/datastores`, s.arrayOf(DataStore), {
    of: Mounted,
    envelope: 'storage.v4.config.DataStoreResponse',
    roles: storageContainerReaders,
    rateLimit: readRate,
    filter: ['containerExtId'],
    deprecated: { successor: '/api/clustermgmt/v4.2/config/clusters/{clusterExtId}/storage-containers/datastores' },
  }),
  addDataStoreForCluster: action(`${path}/{containerExtId}/$actions/mount`, {
    ...mutation,
    body: DataStoreMount,
    envelope: 'storage.v4.config.StorageContainerTaskResponse',
    deprecated: { successor: '/api/clustermgmt/v4.2/config/storage-containers/{extId}/$actions/mount' },
  }),
  deleteDataStoreForCluster: action(`${path}/{containerExtId}/$actions/unmount`, {
    ...mutation,
    body: DataStoreUnmount,
    envelope: 'storage.v4.config.DataStoreTaskResponse',
    deprecated: { successor: '/api/clustermgmt/v4.2/config/storage-containers/{extId}/$actions/unmount' },
  }),
}
