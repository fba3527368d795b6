import { action, baseFields, create, get, list, perSecond, remove, resource, update } from '../operation.ts'
import {
  anything,
  arrayOf,
  boolean,
  enumeration,
  immutable,
  integer,
  object,
  optional,
  readOnly,
  referenceTo,
  since,
  text,
  timestamp,
  uuid,
  visibleWith,
  withDefault,
} from '../schema.ts'
import { IPAddressOrFQDN } from '../shapes.ts'
import { storageContainerAdmins, storageContainerReaders } from './roles.ts'

/**
 * A share of a cluster's storage pool with its own policy. `containerExtId` repeats `extId`. The domain checks
 * capacities and reservations against the pool.
 * Source: catalogue clustermgmt.json (fields, limits, list fields); behaviour clustermgmt.md 1.9 (defaults, rules), 2.
 */
export const StorageContainer = resource(
  'clustermgmt.v4.config.StorageContainer',
  {
    // No slash, no blank at either end.
    name: text({ minLength: 1, maxLength: 75, pattern: '^[^/\\s](?:[^/]*[^/\\s])?$' }),
    containerExtId: readOnly(uuid()),
    clusterExtId: immutable(optional(uuid())),
    clusterName: visibleWith('Cluster', 'clusterExtId', readOnly(text({ maxLength: 256 }))),
    storagePoolExtId: readOnly(uuid()),
    ownerExtId: optional(uuid()),
    // Default: that of the cluster.
    replicationFactor: optional(integer({ minimum: 1, maximum: 3 })),
    affinityHostExtId: immutable(optional(referenceTo('Host'))),
    maxCapacityBytes: readOnly(integer()),
    logicalAdvertisedCapacityBytes: optional(integer({ minimum: 0 })),
    logicalExplicitReservedCapacityBytes: withDefault(integer({ minimum: 0 }), 0),
    logicalImplicitReservedCapacityBytes: readOnly(integer()),
    erasureCode: withDefault(enumeration(['NONE', 'OFF', 'ON']), 'OFF'),
    // Default when erasure coding is on: 604,800.
    erasureCodeDelaySecs: optional(integer({ minimum: 0 })),
    isInlineEcEnabled: optional(boolean()),
    hasHigherEcFaultDomainPreference: optional(boolean()),
    isCompressionEnabled: withDefault(boolean(), false),
    compressionDelaySecs: withDefault(integer({ minimum: 0, maximum: 2592000 }), 0),
    onDiskDedup: withDefault(enumeration(['NONE', 'OFF', 'POST_PROCESS']), 'OFF'),
    cacheDeduplication: withDefault(enumeration(['NONE', 'OFF', 'ON']), 'OFF'),
    isSoftwareEncryptionEnabled: withDefault(boolean(), false),
    isEncrypted: readOnly(boolean()),
    nfsWhitelistAddress: optional(arrayOf(IPAddressOrFQDN, { maxItems: 100 })),
    // Default: whether there are no addresses.
    isNfsWhitelistInherited: optional(boolean()),
    isInternal: withDefault(boolean(), false),
    isMarkedForRemoval: readOnly(boolean()),
    isShared: since('v4.2', optional(boolean())),
    externalStorageExtId: since('v4.2', optional(referenceTo('ExternalStorage'))),
  },
  {
    internal: {
      /** Fields of storage v4.0.a3 only: stored and shown there, without effect. */
      legacy: optional(anything()),
      /** When each data reduction was switched on; absent for one that was on from the start. */
      reductionsSince: optional(
        object('', {
          compression: optional(timestamp()),
          deduplication: optional(timestamp()),
          erasureCoding: optional(timestamp()),
        }),
      ),
    },
    iam: {
      name: 'storage_container',
      attributes: { name: 'name', cluster_uuid: 'clusterExtId', owner_uuid: 'ownerExtId' },
    },
    rel: 'clustermgmt:config:storage-containers',
    unique: [{ fields: ['clusterExtId', 'name'], ignoreCase: true, error: 'STORAGE_CONTAINER_NAME_EXISTS' }],
    ofCluster: { by: 'clusterExtId', keptByManager: ['ownerExtId'] },
  },
)

const nodeExtIds = optional(arrayOf(referenceTo('Host'), { maxItems: 50 }))

export const DataStoreMount = object('clustermgmt.v4.config.DataStoreMount', {
  ...baseFields,
  // Name of the container in the path.
  containerName: text({ maxLength: 75 }),
  // Default: containerName.
  datastoreName: optional(text({ maxLength: 255 })),
  // Default: all hosts of the cluster.
  nodeExtIds,
  isReadOnly: optional(boolean()),
  targetPath: optional(text()),
})

export const DataStoreUnmount = object('clustermgmt.v4.config.DataStoreUnmount', {
  ...baseFields,
  datastoreName: text({ maxLength: 255 }),
  nodeExtIds,
})

const path = '/config/storage-containers'

export const storageContainerOperations = {
  listStorageContainers: list(path, StorageContainer, {
    iam: 'View_Storage_Container',
    roles: storageContainerReaders,
    rateLimit: perSecond(20, 25, 25, 25),
    filter: [
      'affinityHostExtId',
      'clusterExtId',
      'clusterName',
      'compressionDelaySecs',
      'containerExtId',
      'name',
      'ownerExtId',
      'replicationFactor',
      'storagePoolExtId',
    ],
    orderby: [
      'affinityHostExtId',
      'clusterName',
      'compressionDelaySecs',
      'containerExtId',
      'erasureCode',
      'name',
      'replicationFactor',
    ],
    select: 'any',
  }),
  createStorageContainer: create(path, StorageContainer, {
    iam: 'Create_Storage_Container',
    roles: storageContainerAdmins,
    rateLimit: perSecond(5, 5, 10, 10),
    clusterId: 'required',
    requestId: 'required',
  }),
  getStorageContainerById: get(`${path}/{extId}`, StorageContainer, {
    iam: 'View_Storage_Container',
    roles: storageContainerReaders,
    rateLimit: perSecond(20, 25, 25, 25),
  }),
  updateStorageContainerById: update(`${path}/{extId}`, StorageContainer, {
    iam: 'Update_Storage_Container',
    roles: [...storageContainerAdmins, 'Backup Admin'],
    rateLimit: perSecond(5, 5, 10, 10),
    ifMatch: 'required',
    requestId: 'required',
  }),
  deleteStorageContainerById: remove(`${path}/{extId}`, StorageContainer, {
    iam: 'Delete_Storage_Container',
    roles: storageContainerAdmins,
    rateLimit: perSecond(5, 5, 10, 10),
    requestId: 'required',
    query: { ignoreSmallFiles: optional(boolean()) },
  }),
  mountStorageContainer: action(`${path}/{extId}/$actions/mount`, {
    of: StorageContainer,
    body: DataStoreMount,
    iam: 'Mount_Storage_Container',
    roles: storageContainerAdmins,
    rateLimit: perSecond(5, 5, 10, 10),
  }),
  unmountStorageContainer: action(`${path}/{extId}/$actions/unmount`, {
    of: StorageContainer,
    body: DataStoreUnmount,
    iam: 'Unmount_Storage_Container',
    roles: storageContainerAdmins,
    rateLimit: perSecond(5, 5, 10, 10),
  }),
}
