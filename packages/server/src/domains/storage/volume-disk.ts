/** Source: behaviour volumes-storage.md 1.3, 1.8. */
import { volumeDiskOperations } from '@hyperplane/contract/storage/volume-disk'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { sparseChanges } from '../../core/updates.ts'
import { sizeFaults, startDiskRemoval, startDiskUpdate } from '../block-volumes/disks.ts'
import { implement, parentOf } from '../context.ts'

export const volumeDisk = implement(
  volumeDiskOperations,
  {
    async updateVolumeDisk(ctx, { body }) {
      const group = parentOf(ctx, 'volumeGroupExtId', VolumeGroup)
      return startDiskUpdate(ctx, group, ctx.target, sparseChanges(VolumeDisk, body))
    },

    async deleteVolumeDisk(ctx) {
      return startDiskRemoval(ctx, parentOf(ctx, 'volumeGroupExtId', VolumeGroup), ctx.target)
    },
  },
  { rules: { updateVolumeDisk: ({ body }) => sizeFaults('diskSizeBytes', body.diskSizeBytes) } },
)
