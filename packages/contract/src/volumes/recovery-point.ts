/** Source: behaviour volumes-storage.md 1.2 (Revert), 3. */
import { resource } from '../operation.ts'
import * as s from '../schema.ts'

/** Internal. A frozen state of the disks of a volume group, from a seed or from before a revert. */
export const VolumeGroupRecoveryPoint = resource('volumes.v4.config.VolumeGroupRecoveryPoint', {
  fields: {},
  internal: {
    volumeGroupExtId: s.referenceTo('VolumeGroup'),
    creationTime: s.timestamp(),
    /** Set on the recovery point of the previous state when a revert has succeeded. */
    expirationTime: s.optional(s.timestamp()),
    disks: s.arrayOf(
      s.object('', {
        diskExtId: s.uuid(),
        imageExtId: s.uuid(),
        index: s.integer(),
        sizeBytes: s.integer(),
        containerExtId: s.referenceTo('StorageContainer'),
        /** Milliseconds since 1970. */
        createdAt: s.optional(s.integer()),
      }),
    ),
    /** Rows of the disks before a revert, for its undo. */
    rows: s.optional(s.anything()),
  },
  indexed: ['volumeGroupExtId'],
  ofCluster: { by: 'volumeGroupExtId', partOf: 'VolumeGroup' },
})
