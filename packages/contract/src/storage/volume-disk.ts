import { baseFields, remove, update } from '../operation.ts'
import { boolean, immutable, integer, object, optional, readOnly, text, uuid } from '../schema.ts'
import { EntityReference } from '../shapes.ts'
import { VolumeDisk as Disk } from '../volumes/volume-disk.ts'
import { writeRate } from './rates.ts'
import { storageWriters } from './roles.ts'

/**
 * The older view of a volume disk.
 * Source: specification 2.2, 4.2; catalogue volumes.json (limits); behaviour volumes-storage.md 1.3, 1.8, 2.
 */
export const VolumeDisk = object('storage.v4.config.VolumeDisk', {
  ...baseFields,
  index: immutable(optional(integer({ minimum: 0, maximum: 16383 }))),
  diskSizeBytes: optional(integer({ minimum: 524288, maximum: 219902325555200 })),
  storageContainerId: immutable(readOnly(uuid())),
  description: optional(text({ maxLength: 1000, multiline: true })),
  diskDataSourceReference: immutable(optional(EntityReference)),
  diskStorageFeatures: optional(
    object('storage.v4.config.DiskStorageFeatures', {
      flashMode: optional(object('storage.v4.config.FlashMode', { isEnabled: optional(boolean()) })),
    }),
  ),
})

const path = '/config/volume-groups/{volumeGroupExtId}/disks/{diskExtId}'
const deprecated = { successor: '/api/volumes/v4.2/config/volume-groups/{volumeGroupExtId}/disks/{extId}' }

export const volumeDiskOperations = {
  updateVolumeDisk: update(path, Disk, {
    method: 'PATCH',
    body: VolumeDisk,
    envelope: 'storage.v4.config.VolumeDiskTaskResponse',
    iam: 'Update_Volume_Group_Disk_Alpha',
    roles: storageWriters,
    rateLimit: writeRate,
    deprecated,
  }),
  deleteVolumeDisk: remove(path, Disk, {
    envelope: 'storage.v4.config.VolumeDiskTaskResponse',
    iam: 'Delete_Volume_Group_Disk_Alpha',
    roles: storageWriters,
    rateLimit: writeRate,
    deprecated,
  }),
}
