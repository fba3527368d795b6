import { baseFields, remove, update } from '../operation.ts'
import * as s from '../schema.ts'
import { EntityReference } from '../shapes.ts'
import { VolumeDisk as Disk } from '../volumes/volume-disk.ts'
import { writeRate } from './rates.ts'
import { storageWriters } from './roles.ts'

/** Source: specification 2.2, 4.2; catalogue volumes.json (limits); behaviour volumes-storage.md 1.3, 1.8, 2. */
export const VolumeDisk = s.object('storage.v4.config.VolumeDisk', {
  ...baseFields,
  index: s.immutable(s.optional(s.integer({ minimum: 0, maximum: 16383 }))),
  diskSizeBytes: s.optional(s.integer({ minimum: 524288, maximum: 219902325555200 })),
  storageContainerId: s.immutable(s.readOnly(s.uuid())),
  description: s.optional(s.text({ maxLength: 1000, multiline: true })),
  diskDataSourceReference: s.immutable(s.optional(EntityReference)),
  diskStorageFeatures: s.optionalObject('storage.v4.config.DiskStorageFeatures', {
    flashMode: s.optionalObject('storage.v4.config.FlashMode', { isEnabled: s.optional(s.boolean()) }),
  }),
})

const path = '/config/volume-groups/{volumeGroupExtId}/disks/{diskExtId}'
const deprecated = { successor: '/api/volumes/v4.2/config/volume-groups/{volumeGroupExtId}/disks/{extId}' }

const mutation = { roles: storageWriters, rateLimit: writeRate, deprecated }

export const volumeDiskOperations = {
  updateVolumeDisk: update(path, Disk, {
    ...mutation,
    method: 'PATCH',
    body: VolumeDisk,
    envelope: 'storage.v4.config.VolumeDiskTaskResponse',
    iam: 'Update_Volume_Group_Disk_Alpha',
  }),
  deleteVolumeDisk: remove(path, Disk, {
    ...mutation,
    envelope: 'storage.v4.config.VolumeDiskTaskResponse',
    iam: 'Delete_Volume_Group_Disk_Alpha',
  }),
}
