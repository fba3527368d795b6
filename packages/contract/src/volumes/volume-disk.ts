import { create, get, list, perSecond, remove, resource, update } from '../operation.ts'
import { boolean, immutable, integer, object, optional, readOnly, referenceTo, text, withDefault } from '../schema.ts'
import { EntityReference } from '../shapes.ts'
import { volumeAdmins, volumeReaders } from './roles.ts'

export const FlashMode = object('volumes.v4.config.FlashMode', { isEnabled: withDefault(boolean(), false) })

/**
 * A virtual disk of a volume group, in a storage container of the group's cluster.
 * Source: specification 2.2; catalogue volumes.json (limits, list fields); behaviour volumes-storage.md 1.3, 2.
 */
export const VolumeDisk = resource(
  'volumes.v4.config.VolumeDisk',
  {
    // Default: the lowest free index in the group.
    index: immutable(optional(integer({ minimum: 0, maximum: 16383 }))),
    // A multiple of 512 that never shrinks. Default for a copy: the size of its source.
    diskSizeBytes: optional(integer({ minimum: 524288, maximum: 219902325555200 })),
    storageContainerId: immutable(readOnly(referenceTo('StorageContainer'))),
    description: optional(text({ maxLength: 1000, multiline: true })),
    diskDataSourceReference: immutable(optional(EntityReference)),
    diskStorageFeatures: optional(object('volumes.v4.config.DiskStorageFeatures', { flashMode: optional(FlashMode) })),
  },
  {
    internal: {
      volumeGroupExtId: referenceTo('VolumeGroup'),
      /** The source, while the copy is running. */
      copyOf: referenceTo('VolumeDisk'),
    },
    rel: 'volumes:config:volume-group:disk',
    parent: { param: 'volumeGroupExtId', kind: 'VolumeGroup', field: 'volumeGroupExtId' },
    unique: [{ fields: ['volumeGroupExtId', 'index'], error: 'INDEX_IN_USE' }],
    notFound: 'VOLUME_UNKNOWN_ENTITY_ERROR',
    ofCluster: { by: 'volumeGroupExtId', partOf: 'VolumeGroup' },
  },
)

const path = '/config/volume-groups/{volumeGroupExtId}/disks'

export const volumeDiskOperations = {
  listVolumeDisksByVolumeGroupId: list(path, VolumeDisk, {
    iam: 'View_Volume_Group_Disks',
    roles: volumeReaders,
    rateLimit: perSecond(20, 25, 25, 25),
    filter: ['storageContainerId'],
    orderby: ['diskSizeBytes'],
    orderedBy: 'index',
    select: 'any',
  }),
  createVolumeDisk: create(path, VolumeDisk, {
    iam: 'Create_Volume_Group_Disk',
    roles: volumeAdmins,
    rateLimit: perSecond(5, 5, 10, 10),
    requestId: 'required',
  }),
  getVolumeDiskById: get(`${path}/{extId}`, VolumeDisk, {
    iam: 'View_Volume_Group_Disks',
    roles: volumeReaders,
    rateLimit: perSecond(20, 25, 25, 25),
  }),
  updateVolumeDiskById: update(`${path}/{extId}`, VolumeDisk, {
    iam: 'Update_Volume_Group_Disk',
    roles: volumeAdmins,
    rateLimit: perSecond(5, 5, 10, 10),
    ifMatch: 'required',
    requestId: 'required',
  }),
  deleteVolumeDiskById: remove(`${path}/{extId}`, VolumeDisk, {
    iam: 'Delete_Volume_Group_Disk',
    roles: volumeAdmins,
    rateLimit: perSecond(5, 5, 10, 10),
    requestId: 'required',
  }),
}
