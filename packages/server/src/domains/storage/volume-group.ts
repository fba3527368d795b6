/** Source: behaviour volumes-storage.md 1.8. */
import { volumeGroupOperations } from '@hyperplane/contract/storage/volume-group'
import type { Group } from '../block-volumes/attachments.ts'
import { presentVolumeGroups } from '../block-volumes/groups.ts'
import { implement } from '../context.ts'

export const volumeGroup = implement(volumeGroupOperations, {
  async getVolumeGroupById(ctx) {
    const [group] = await presentVolumeGroups(ctx, [ctx.target], { expand: new Set() })
    return inOlderTypes(group as Group)
  },
})

/** Clients tell attachments apart by `$objectType`, which must name types of this namespace. */
function inOlderTypes(group: Group): Group {
  const attachments = group.attachments?.map(({ attachment }) => ({
    attachment: { ...attachment, $objectType: attachment.$objectType?.replace(/^volumes\./, 'storage.') },
  }))
  return attachments === undefined ? group : ({ ...group, attachments } as Group)
}
