import { names } from '../names.ts'
import {
  action,
  baseFields,
  create,
  type EntityOf,
  get,
  list,
  perSecond,
  remove,
  resource,
  update,
} from '../operation.ts'
import * as s from '../schema.ts'
import { IPAddressOrFQDN } from '../shapes.ts'
import { storageContainerAdmins, storageContainerReaders } from './roles.ts'

/** `containerExtId` repeats `extId`. Source: catalogue clustermgmt.json; behaviour clustermgmt.md 1.9, 2. */
export const StorageContainer = resource('clustermgmt.v4.config.StorageContainer', {
  fields: {
    name: s.text({ minLength: 1, maxLength: 75, pattern: '^[^/\\s](?:[^/]*[^/\\s])?$' }),
    containerExtId: s.readOnly(s.uuid()),
    clusterExtId: s.immutable(s.optional(s.uuid())),
    clusterName: s.visibleWith('Cluster', 'clusterExtId', s.readOnly(s.text({ maxLength: 256 }))),
    storagePoolExtId: s.readOnly(s.uuid()),
    ownerExtId: s.optional(s.uuid()),
    // Default: that of the cluster.
    replicationFactor: s.optional(s.integer({ minimum: 1, maximum: 3 })),
    affinityHostExtId: s.immutable(s.optional(s.referenceTo('Host'))),
    maxCapacityBytes: s.readOnly(s.integer()),
    logicalAdvertisedCapacityBytes: s.optional(s.integer({ minimum: 0 })),
    logicalExplicitReservedCapacityBytes: s.withDefault(s.integer({ minimum: 0 }), 0),
    logicalImplicitReservedCapacityBytes: s.readOnly(s.integer()),
    erasureCode: s.withDefault(s.enumeration(['NONE', 'OFF', 'ON']), 'OFF'),
    // Default when erasure coding is on: 604,800.
    erasureCodeDelaySecs: s.optional(s.integer({ minimum: 0 })),
    isInlineEcEnabled: s.optional(s.boolean()),
    hasHigherEcFaultDomainPreference: s.optional(s.boolean()),
    isCompressionEnabled: s.withDefault(s.boolean(), false),
    compressionDelaySecs: s.withDefault(s.integer({ minimum: 0, maximum: 2592000 }), 0),
    onDiskDedup: s.withDefault(s.enumeration(['NONE', 'OFF', 'POST_PROCESS']), 'OFF'),
    cacheDeduplication: s.withDefault(s.enumeration(['NONE', 'OFF', 'ON']), 'OFF'),
    isSoftwareEncryptionEnabled: s.withDefault(s.boolean(), false),
    isEncrypted: s.readOnly(s.boolean()),
    nfsWhitelistAddress: s.optional(s.arrayOf(IPAddressOrFQDN, { maxItems: 100 })),
    // Default: true without addresses.
    isNfsWhitelistInherited: s.optional(s.boolean()),
    isInternal: s.withDefault(s.boolean(), false),
    isMarkedForRemoval: s.readOnly(s.boolean()),
    isShared: s.since('v4.2', s.optional(s.boolean())),
    externalStorageExtId: s.since('v4.2', s.optional(s.referenceTo('ExternalStorage'))),
  },
  internal: {
    createdAt: s.timestamp(),
    /** Fields of storage v4.0.a3 only: stored and shown there, without effect. */
    legacy: s.optional(s.anything()),
    /** When each data reduction was enabled; absent if it was on from the start. */
    reductionsSince: s.optionalObject('', {
      compression: s.optional(s.timestamp()),
      deduplication: s.optional(s.timestamp()),
      erasureCoding: s.optional(s.timestamp()),
    }),
  },
  iam: { name: 'name', cluster_uuid: 'clusterExtId', owner_uuid: 'ownerExtId' },
  rel: 'clustermgmt:config:storage-containers',
  unique: [{ fields: ['clusterExtId', 'name'], ignoreCase: true, error: 'STORAGE_CONTAINER_NAME_EXISTS' }],
  ofCluster: { by: 'clusterExtId', keptByManager: ['ownerExtId'] },
})
export type StorageContainer = EntityOf<typeof StorageContainer>

const nodeExtIds = s.optional(s.arrayOf(s.referenceTo('Host'), { maxItems: 50 }))

export const DataStoreMount = s.object('clustermgmt.v4.config.DataStoreMount', {
  ...baseFields,
  containerName: s.text({ maxLength: 75 }),
  // Default: containerName.
  datastoreName: s.optional(s.text({ maxLength: 255 })),
  // Default: all hosts of the cluster.
  nodeExtIds,
  isReadOnly: s.optional(s.boolean()),
  targetPath: s.optional(s.text()),
})

export const DataStoreUnmount = s.object('clustermgmt.v4.config.DataStoreUnmount', {
  ...baseFields,
  datastoreName: s.text({ maxLength: 255 }),
  nodeExtIds,
})

const path = '/config/storage-containers'

const view = { roles: storageContainerReaders, rateLimit: perSecond(20, 25, 25, 25) }
const mutation = { roles: storageContainerAdmins, rateLimit: perSecond(5, 5, 10, 10) }

export const storageContainerOperations = {
  listStorageContainers: list(path, StorageContainer, {
    ...view,
    filter: names(`
      affinityHostExtId, clusterExtId, clusterName, compressionDelaySecs, containerExtId, name, ownerExtId,
      replicationFactor, storagePoolExtId
    `),
    orderby: names(`
      affinityHostExtId, clusterName, compressionDelaySecs, containerExtId, erasureCode, name, replicationFactor
    `),
    select: 'any',
  }),
  createStorageContainer: create(path, StorageContainer, { ...mutation, clusterId: 'required', requestId: 'required' }),
  getStorageContainerById: get(`${path}/{extId}`, StorageContainer, view),
  updateStorageContainerById: update(`${path}/{extId}`, StorageContainer, {
    roles: [...storageContainerAdmins, 'Backup Admin'],
    rateLimit: perSecond(5, 5, 10, 10),
    requestId: 'required',
  }),
  deleteStorageContainerById: remove(`${path}/{extId}`, StorageContainer, {
    ...mutation,
    requestId: 'required',
    query: { ignoreSmallFiles: s.optional(s.boolean()) },
  }),
  mountStorageContainer: action(`${path}/{extId}/$actions/mount`, {
    ...mutation,
    of: StorageContainer,
    body: DataStoreMount,
  }),
  clearThickProvisionedSpace: action(`${path}/{extId}/$actions/clear-thick-provisioned-space`, {
    ...mutation,
    versions: ['v4.2'],
    of: StorageContainer,
    clusterId: 'optional',
  }),
  unmountStorageContainer: action(`${path}/{extId}/$actions/unmount`, {
    ...mutation,
    of: StorageContainer,
    body: DataStoreUnmount,
  }),
}
