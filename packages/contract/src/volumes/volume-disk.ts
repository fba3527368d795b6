import { create, type EntityOf, get, list, perSecond, remove, resource, update } from '../operation.ts'
import * as s from '../schema.ts'
import { EntityReference } from '../shapes.ts'
import { volumeAdmins, volumeReaders } from './roles.ts'

export const FlashMode = s.object('volumes.v4.config.FlashMode', { isEnabled: s.withDefault(s.boolean(), false) })

/** Source: specification 2.2; catalogue volumes.json (limits, list fields); behaviour volumes-storage.md 1.3, 2. */
export const VolumeDisk = resource('volumes.v4.config.VolumeDisk', {
  fields: {
    // Default: the lowest free index in the group.
    index: s.immutable(s.optional(s.integer({ minimum: 0, maximum: 16383 }))),
    // A multiple of 512 that never shrinks. Default for a copy: the size of its source.
    diskSizeBytes: s.optional(s.integer({ minimum: 524288, maximum: 219902325555200 })),
    storageContainerId: s.immutable(s.readOnly(s.referenceTo('StorageContainer'))),
    description: s.optional(s.text({ maxLength: 1000, multiline: true })),
    diskDataSourceReference: s.immutable(s.optional(EntityReference)),
    diskStorageFeatures: s.optionalObject('volumes.v4.config.DiskStorageFeatures', {
      flashMode: s.optional(FlashMode),
    }),
  },
  iamNoun: 'Volume_Group_Disk',
  internal: {
    volumeGroupExtId: s.referenceTo('VolumeGroup'),
    copyOf: s.referenceTo('VolumeDisk'),
  },
  rel: 'volumes:config:volume-group:disk',
  parent: { param: 'volumeGroupExtId', kind: 'VolumeGroup', field: 'volumeGroupExtId' },
  unique: [{ fields: ['volumeGroupExtId', 'index'], error: 'INDEX_IN_USE' }],
  ofCluster: { by: 'volumeGroupExtId', partOf: 'VolumeGroup' },
})
export type VolumeDisk = EntityOf<typeof VolumeDisk>

const path = '/config/volume-groups/{volumeGroupExtId}/disks'

const view = { iam: 'View_Volume_Group_Disks', roles: volumeReaders, rateLimit: perSecond(20, 25, 25, 25) }
const mutation = { roles: volumeAdmins, rateLimit: perSecond(5, 5, 10, 10), requestId: 'required' } as const

export const volumeDiskOperations = {
  listVolumeDisksByVolumeGroupId: list(path, VolumeDisk, {
    ...view,
    filter: ['storageContainerId'],
    orderby: ['diskSizeBytes'],
    orderedBy: 'index',
    select: 'any',
  }),
  createVolumeDisk: create(path, VolumeDisk, mutation),
  getVolumeDiskById: get(`${path}/{extId}`, VolumeDisk, view),
  updateVolumeDiskById: update(`${path}/{extId}`, VolumeDisk, mutation),
  deleteVolumeDiskById: remove(`${path}/{extId}`, VolumeDisk, mutation),
}
