import { storageContainerReaders } from '../clustermgmt/roles.ts'
import { StorageContainer as Container } from '../clustermgmt/storage-container.ts'
import { names } from '../names.ts'
import { baseFields, create, read, remove, update } from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddressOrFQDN } from '../shapes.ts'
import { readRate, writeRate } from './rates.ts'
import { storageWriters } from './roles.ts'

// Answers contain the strings `false` and `true`; bodies may also use OFF and ON, as clustermgmt does.
const switched = s.enumeration(['NONE', 'false', 'true', 'OFF', 'ON'])

/** Source: catalogue storage.json; behaviour volumes-storage.md 1.8 (map of names), 2; clustermgmt.md 1.9 (rules). */
export const StorageContainer = s.object('storage.v4.config.StorageContainer', {
  ...baseFields,
  name: Container.schema.fields.name,
  containerExtId: s.readOnly(s.uuid()),
  containerId: s.readOnly(s.text()),
  clusterExtId: s.immutable(s.optional(s.uuid())),
  storagePoolUuid: s.readOnly(s.uuid()),
  ownerUuid: s.optional(s.uuid()),
  replicationFactor: s.optional(s.integer({ minimum: 1, maximum: 3 })),
  affinityHostUuid: s.immutable(s.optional(s.referenceTo('Host'))),
  maxCapacity: s.readOnly(s.integer()),
  advertisedCapacity: s.optional(s.integer({ minimum: 0 })),
  totalExplicitReservedCapacity: s.optional(s.integer({ minimum: 0 })),
  totalImplicitReservedCapacity: s.readOnly(s.integer()),
  erasureCode: s.optional(switched),
  erasureCodeDelaySecs: s.optional(s.integer({ minimum: 0 })),
  inlineEcEnabled: s.optional(s.boolean()),
  preferHigherECFaultDomain: s.optional(s.boolean()),
  compressionEnabled: s.optional(s.boolean()),
  compressionDelayInSecs: s.optional(s.integer({ minimum: 0, maximum: 2592000 })),
  onDiskDedup: s.optional(s.enumeration(['NONE', 'false', 'POST_PROCESS', 'OFF'])),
  fingerPrintOnWrite: s.optional(switched),
  enableSoftwareEncryption: s.optional(s.boolean()),
  encrypted: s.readOnly(s.boolean()),
  nfsWhitelistAddress: s.optional(s.arrayOf(IPAddressOrFQDN, { maxItems: 100 })),
  isNfsWhitelistInherited: s.optional(s.boolean()),
  isNutanixManaged: s.optional(s.boolean()),
  markedForRemoval: s.readOnly(s.boolean()),
  // Stored and shown without effect: clustermgmt has no counterpart.
  downMigrateTimesInSecs: s.optional(s.mapOf(s.integer())),
  mappedRemoteContainers: s.optional(s.mapOf(s.text())),
  oplogReplicationFactor: s.optional(s.integer()),
  randomIoPreference: s.optional(s.arrayOf(s.text())),
  seqIoPreference: s.optional(s.arrayOf(s.text())),
  vstoreNameList: s.optional(s.arrayOf(s.text())),
})

const path = '/config/storage-containers'
const successor = '/api/clustermgmt/v4.2/config/storage-containers'

const view = { roles: storageContainerReaders, rateLimit: readRate }
const mutation = { roles: storageWriters, rateLimit: writeRate }

export const storageContainerOperations = {
  getAllStorageContainers: read(path, s.arrayOf(StorageContainer), {
    ...view,
    of: Container,
    envelope: 'storage.v4.config.StorageContainersResponse',
    paged: true,
    filter: names(`
      affinityHostUuid, clusterExtId, containerExtId, containerId, name, ownerUuid, replicationFactor, storagePoolUuid
    `),
    orderby: ['name'],
    select: 'any',
    deprecated: { successor },
  }),
  addStorageContainerForCluster: create(path, Container, {
    ...mutation,
    body: StorageContainer,
    envelope: 'storage.v4.config.StorageContainerTaskResponse',
    iam: 'Create_Storage_Container_Alpha',
    clusterId: 'required',
    deprecated: { successor },
  }),
  getStorageContainerByExtId: read(`${path}/{containerExtId}`, StorageContainer, {
    ...view,
    of: Container,
    envelope: 'storage.v4.config.StorageContainerResponse',
    deprecated: { successor: `${successor}/{extId}` },
  }),
  updateStorageContainer: update(`${path}/{containerExtId}`, Container, {
    ...mutation,
    body: StorageContainer,
    envelope: 'storage.v4.config.StorageContainerTaskResponse',
    iam: 'Update_Storage_Container_Alpha',
    deprecated: { successor: `${successor}/{extId}` },
  }),
  deleteStorageContainerByExtId: remove(`${path}/{containerExtId}`, Container, {
    ...mutation,
    envelope: 'storage.v4.config.StorageContainerTaskResponse',
    iam: 'Delete_Storage_Container_Alpha',
    query: { ignoreSmallFiles: s.optional(s.boolean()) },
    deprecated: { successor: `${successor}/{extId}` },
  }),
}
