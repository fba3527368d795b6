import { DataStore as Mounted } from '../clustermgmt/data-store.ts'
import { storageContainerAdmins, storageContainerReaders } from '../clustermgmt/roles.ts'
import { StorageContainer } from '../clustermgmt/storage-container.ts'
import { action, baseFields, read } from '../operation.ts'
import {
  arrayOf,
  boolean,
  integer,
  object,
  optional,
  readOnly,
  referenceTo,
  text,
  uuid,
  visibleWith,
} from '../schema.ts'
import { readRate, writeRate } from './rates.ts'

/**
 * The older view of a datastore of clustermgmt. `hostId` and `containerId` are the short numbers of older clients.
 * Source: specification 4.2; catalogue storage.json (fields); behaviour volumes-storage.md 1.8, 2.
 */
export const DataStore = object('storage.v4.config.DataStore', {
  ...baseFields,
  datastoreName: readOnly(text()),
  containerName: visibleWith('StorageContainer', 'containerExtId', readOnly(text())),
  containerExtId: readOnly(uuid()),
  containerId: readOnly(text()),
  hostExtId: readOnly(uuid()),
  hostId: readOnly(text()),
  hostIpAddress: readOnly(text()),
  capacity: readOnly(integer()),
  freeSpace: readOnly(integer()),
  vmNames: readOnly(arrayOf(text())),
})

// The union of both lists; if both are absent, all hosts. A node id is `<n>` or `<cluster uuid>::<n>`.
const nodes = {
  nodeIds: optional(arrayOf(text({ pattern: '^(?:[a-fA-F0-9-]{36}::)?[0-9]{1,9}$' }))),
  nodeExtIds: optional(arrayOf(referenceTo('Host'))),
}

export const DataStoreMount = object('storage.v4.config.DataStoreMount', {
  datastoreName: optional(text({ maxLength: 255 })),
  containerName: text({ maxLength: 75 }),
  ...nodes,
  readOnly: optional(boolean()),
  targetPath: optional(text()),
})

export const DataStoreUnmount = object('storage.v4.config.DataStoreUnmount', {
  datastoreName: text({ maxLength: 255 }),
  ...nodes,
})

const path = '/config/storage-containers'

export const dataStoreOperations = {
  getDataStores: read(`${path}/datastores`, arrayOf(DataStore), {
    of: Mounted,
    envelope: 'storage.v4.config.DataStoreResponse',
    iam: 'View_Datastore',
    roles: storageContainerReaders,
    rateLimit: readRate,
    filter: ['containerExtId'],
    deprecated: { successor: '/api/clustermgmt/v4.2/config/clusters/{clusterExtId}/storage-containers/datastores' },
  }),
  addDataStoreForCluster: action(`${path}/{containerExtId}/$actions/mount`, {
    of: StorageContainer,
    body: DataStoreMount,
    envelope: 'storage.v4.config.StorageContainerTaskResponse',
    iam: 'Mount_Storage_Container',
    roles: storageContainerAdmins,
    rateLimit: writeRate,
    deprecated: { successor: '/api/clustermgmt/v4.2/config/storage-containers/{extId}/$actions/mount' },
  }),
  deleteDataStoreForCluster: action(`${path}/{containerExtId}/$actions/unmount`, {
    of: StorageContainer,
    body: DataStoreUnmount,
    envelope: 'storage.v4.config.DataStoreTaskResponse',
    iam: 'Unmount_Storage_Container',
    roles: storageContainerAdmins,
    rateLimit: writeRate,
    deprecated: { successor: '/api/clustermgmt/v4.2/config/storage-containers/{extId}/$actions/unmount' },
  }),
}
