import { storageContainerReaders } from '../clustermgmt/roles.ts'
import { StorageContainer as Container } from '../clustermgmt/storage-container.ts'
import { baseFields, create, read, remove, update } from '../operation.ts'
import {
  arrayOf,
  boolean,
  enumeration,
  immutable,
  integer,
  mapOf,
  object,
  optional,
  readOnly,
  referenceTo,
  text,
  uuid,
} from '../schema.ts'
import { IPAddressOrFQDN } from '../shapes.ts'
import { readRate, writeRate } from './rates.ts'
import { storageWriters } from './roles.ts'

// Answers contain the strings `false` and `true`; bodies may also use OFF and ON, as clustermgmt does.
const switched = enumeration(['NONE', 'false', 'true', 'OFF', 'ON'])

/**
 * The older view of a storage container of clustermgmt: the same values under older names, and a few fields that are
 * stored and shown without effect.
 * Source: catalogue storage.json (fields, list fields); behaviour volumes-storage.md 1.8 (map of names), 2; behaviour
 * clustermgmt.md 1.9 (rules).
 */
export const StorageContainer = object('storage.v4.config.StorageContainer', {
  ...baseFields,
  name: Container.schema.fields.name,
  containerExtId: readOnly(uuid()),
  containerId: readOnly(text()),
  clusterExtId: immutable(optional(uuid())),
  storagePoolUuid: readOnly(uuid()),
  ownerUuid: optional(uuid()),
  replicationFactor: optional(integer({ minimum: 1, maximum: 3 })),
  affinityHostUuid: immutable(optional(referenceTo('Host'))),
  maxCapacity: readOnly(integer()),
  advertisedCapacity: optional(integer({ minimum: 0 })),
  totalExplicitReservedCapacity: optional(integer({ minimum: 0 })),
  totalImplicitReservedCapacity: readOnly(integer()),
  erasureCode: optional(switched),
  erasureCodeDelaySecs: optional(integer({ minimum: 0 })),
  inlineEcEnabled: optional(boolean()),
  preferHigherECFaultDomain: optional(boolean()),
  compressionEnabled: optional(boolean()),
  compressionDelayInSecs: optional(integer({ minimum: 0, maximum: 2592000 })),
  onDiskDedup: optional(enumeration(['NONE', 'false', 'POST_PROCESS', 'OFF'])),
  fingerPrintOnWrite: optional(switched),
  enableSoftwareEncryption: optional(boolean()),
  encrypted: readOnly(boolean()),
  nfsWhitelistAddress: optional(arrayOf(IPAddressOrFQDN, { maxItems: 100 })),
  isNfsWhitelistInherited: optional(boolean()),
  isNutanixManaged: optional(boolean()),
  markedForRemoval: readOnly(boolean()),
  // Stored and shown without effect: clustermgmt has no counterpart.
  downMigrateTimesInSecs: optional(mapOf(integer())),
  mappedRemoteContainers: optional(mapOf(text())),
  oplogReplicationFactor: optional(integer()),
  randomIoPreference: optional(arrayOf(text())),
  seqIoPreference: optional(arrayOf(text())),
  vstoreNameList: optional(arrayOf(text())),
})

const path = '/config/storage-containers'
const successor = '/api/clustermgmt/v4.2/config/storage-containers'

export const storageContainerOperations = {
  getAllStorageContainers: read(path, arrayOf(StorageContainer), {
    of: Container,
    envelope: 'storage.v4.config.StorageContainersResponse',
    iam: 'View_Storage_Container',
    roles: storageContainerReaders,
    rateLimit: readRate,
    paged: true,
    filter: [
      'affinityHostUuid',
      'clusterExtId',
      'containerExtId',
      'containerId',
      'name',
      'ownerUuid',
      'replicationFactor',
      'storagePoolUuid',
    ],
    orderby: ['name'],
    select: 'any',
    deprecated: { successor },
  }),
  addStorageContainerForCluster: create(path, Container, {
    body: StorageContainer,
    envelope: 'storage.v4.config.StorageContainerTaskResponse',
    iam: 'Create_Storage_Container_Alpha',
    roles: storageWriters,
    rateLimit: writeRate,
    clusterId: 'required',
    deprecated: { successor },
  }),
  getStorageContainerByExtId: read(`${path}/{containerExtId}`, StorageContainer, {
    of: Container,
    envelope: 'storage.v4.config.StorageContainerResponse',
    iam: 'View_Storage_Container',
    roles: storageContainerReaders,
    rateLimit: readRate,
    deprecated: { successor: `${successor}/{extId}` },
  }),
  updateStorageContainer: update(`${path}/{containerExtId}`, Container, {
    body: StorageContainer,
    envelope: 'storage.v4.config.StorageContainerTaskResponse',
    iam: 'Update_Storage_Container_Alpha',
    roles: storageWriters,
    rateLimit: writeRate,
    deprecated: { successor: `${successor}/{extId}` },
  }),
  deleteStorageContainerByExtId: remove(`${path}/{containerExtId}`, Container, {
    envelope: 'storage.v4.config.StorageContainerTaskResponse',
    iam: 'Delete_Storage_Container_Alpha',
    roles: storageWriters,
    rateLimit: writeRate,
    query: { ignoreSmallFiles: optional(boolean()) },
    deprecated: { successor: `${successor}/{extId}` },
  }),
}
