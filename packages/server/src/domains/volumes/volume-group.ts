/** Source: behaviour volumes-storage.md 1.2. */
import { VolumeGroup, volumeGroupOperations } from '@hyperplane/contract/volumes/volume-group'
import { presentVolumeGroups } from '../block-volumes/groups.ts'
import { volumeRules } from '../block-volumes/invariants.ts'
import { removeExpired } from '../block-volumes/recovery-points.ts'
import { implement, parentOf } from '../context.ts'
import {
  associateCategories,
  categoryDetailsOf,
  categoryTasks,
  metadataOf,
  referenceFaults,
} from './group-categories.ts'
import { createGroup, groupCreationFaults, makeGroup, maximumGroups } from './group-create.ts'
import { deleteGroup, removeGroup } from './group-delete.ts'
import { revertGroup, revertVolumeGroup } from './group-revert.ts'
import { changedGroupFaults } from './group-rules.ts'
import { changeGroup, updateGroup } from './group-update.ts'

export const volumeGroup = implement(
  volumeGroupOperations,
  {
    createVolumeGroup: (ctx, { body }) => createGroup(ctx, body),
    updateVolumeGroupById: (ctx, { body }) => updateGroup(ctx, ctx.target, body),
    deleteVolumeGroupById: (ctx) => deleteGroup(ctx, ctx.target),
    revertVolumeGroup: (ctx, { body }) => revertGroup(ctx, ctx.target, body.volumeGroupRecoveryPointExtId),
    associateCategory: (ctx, { body }) => associateCategories(ctx, ctx.target, body.categories, 'associate'),
    disassociateCategory: (ctx, { body }) => associateCategories(ctx, ctx.target, body.categories, 'disassociate'),
    getVolumeGroupMetadataById: (ctx) => metadataOf(ctx, ctx.target),
    listCategoryAssociationsByVolumeGroupId: (ctx, request) =>
      categoryDetailsOf(ctx, parentOf(ctx, 'volumeGroupExtId', VolumeGroup), request),
  },
  {
    rules: {
      createVolumeGroup: ({ body }) => groupCreationFaults(body),
      updateVolumeGroupById: ({ body }) => changedGroupFaults(body),
      associateCategory: ({ body }) => referenceFaults(body.categories),
      disassociateCategory: ({ body }) => referenceFaults(body.categories),
    },
    tasks: [makeGroup, changeGroup, removeGroup, revertVolumeGroup, ...categoryTasks],
    present: [[VolumeGroup, presentVolumeGroups]],
    limits: [maximumGroups],
    schedules: [
      { name: 'volumes.remove-states-before-reverts', everySeconds: 3600, onlyLastCounts: true, run: removeExpired },
    ],
    invariants: volumeRules,
  },
)
