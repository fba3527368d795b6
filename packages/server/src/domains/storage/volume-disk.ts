/** The disks of volumes in an older shape. Source: behaviour volumes-storage.md 1.3, 1.8. */
import { volumeDiskOperations } from '@hyperplane/contract/storage/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { type DiskChanges, sizeFaults, startDiskRemoval, startDiskUpdate } from '../block-volumes/disks.ts'
import { implement, parentOf } from '../context.ts'

export const volumeDisk = implement(
  volumeDiskOperations,
  {
    async updateVolumeDisk(ctx, { body }) {
      const { diskSizeBytes, description, diskStorageFeatures } = body
      const changes = {
        ...(diskSizeBytes === undefined ? {} : { diskSizeBytes }),
        ...(description === undefined ? {} : { description }),
        ...(diskStorageFeatures === undefined ? {} : { diskStorageFeatures }),
      } as DiskChanges
      return startDiskUpdate(ctx, parentOf(ctx, 'volumeGroupExtId', VolumeGroup), ctx.target, changes)
    },

    async deleteVolumeDisk(ctx) {
      return startDiskRemoval(ctx, parentOf(ctx, 'volumeGroupExtId', VolumeGroup), ctx.target)
    },
  },
  { rules: { updateVolumeDisk: ({ body }) => sizeFaults('diskSizeBytes', body.diskSizeBytes) } },
)
