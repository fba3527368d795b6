/** Source: behaviour volumes-storage.md 1.5. */
import { IscsiClient, iscsiClientOperations } from '@hyperplane/contract/volumes/iscsi-client'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { listOf } from '../../core/standard.ts'
import { replacingChanges } from '../../core/updates.ts'
import { attachmentsWith } from '../block-volumes/attachments.ts'
import { withCluster } from '../block-volumes/groups.ts'
import {
  chapOf,
  siteFaults,
  startClientUpdate,
  straySecretFaults,
  updateIscsiClient,
  withTargets,
} from '../block-volumes/iscsi-clients.ts'
import { implement, parentOf, type ReadContext } from '../context.ts'
import { attachClient, detachClient, identityFaults, iscsiAttachmentTasks, removeUnused } from './iscsi-attachment.ts'

export const iscsiClient = implement(
  iscsiClientOperations,
  {
    async updateIscsiClientById(ctx, { body }) {
      const client = ctx.target
      const { client: _, ...task } = await startClientUpdate(
        ctx,
        client,
        replacingChanges(IscsiClient, body, ctx.version),
      )
      return task
    },

    attachIscsiClient: (ctx, { body }) => attachClient(ctx, ctx.target, body),
    detachIscsiClient: (ctx, { body }) => detachClient(ctx, ctx.target, body.extId),

    async listExternalIscsiAttachmentsByVolumeGroupId(ctx, request) {
      const { extId, clusterReference } = parentOf(ctx, 'volumeGroupExtId', VolumeGroup)
      const own = (await attachmentsWith(ctx.store, 'volumeGroupExtId', [extId])).get(extId) ?? []
      const items = own.flatMap(({ iscsiClientExtId }) =>
        iscsiClientExtId === undefined ? [] : { extId: iscsiClientExtId, clusterReference },
      )
      return listOf(items, request)
    },
  },
  {
    rules: {
      updateIscsiClientById: ({ body }) => [...siteFaults(body), ...straySecretFaults(chapOf(body))],
      attachIscsiClient: ({ body }) => [...siteFaults(body), ...identityFaults(body)],
    },
    tasks: [...iscsiAttachmentTasks, updateIscsiClient],
    present: [
      [
        IscsiClient,
        async (ctx: ReadContext, clients, options) => withCluster(ctx, await withTargets(ctx, clients), options),
      ],
    ],
    schedules: [
      { name: 'volumes.remove-unused-iscsi-clients', everySeconds: 24 * 3600, onlyLastCounts: true, run: removeUnused },
    ],
  },
)
