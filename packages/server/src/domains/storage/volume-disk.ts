/** Volume disks under their older operations. Source: behaviour volumes-storage.md 1.3, 1.8. */
import { volumeDiskOperations } from '@hyperplane/contract/storage/volume-disk'
import { type DiskChanges, sizeFaults, startDiskRemoval, startDiskUpdate } from '../block-volumes/disks.ts'
import { implement } from '../context.ts'

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
      return startDiskUpdate(ctx, ctx.parents['volumeGroupExtId'], ctx.target, changes)
    },

    async deleteVolumeDisk(ctx) {
      return startDiskRemoval(ctx, ctx.parents['volumeGroupExtId'], ctx.target)
    },
  },
  { rules: { updateVolumeDisk: ({ body }) => sizeFaults('diskSizeBytes', body.diskSizeBytes) } },
)
