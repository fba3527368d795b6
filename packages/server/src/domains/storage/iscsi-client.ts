/** iSCSI clients of volumes in an older shape. Source: specification 2.2; behaviour volumes-storage.md 1.8. */
import type { ValueOf } from '@hyperplane/contract'
import { iscsiClientOperations, type IscsiClient as OlderClient } from '@hyperplane/contract/storage/iscsi-client'
import { IscsiClient } from '@hyperplane/contract/volumes/iscsi-client'
import { invalid } from '../../core/api-error.ts'
import { visibleRows } from '../../core/standard.ts'
import { sparseChanges } from '../../core/updates.ts'
import { attachmentsWith, type ClientEntity } from '../block-volumes/attachments.ts'
import { siteFaults, startClientUpdate, withTargets } from '../block-volumes/iscsi-clients.ts'
import { implement, type ReadContext } from '../context.ts'
import { clampedList } from './paging.ts'

type Older = ValueOf<typeof OlderClient>

export const iscsiClient = implement(
  iscsiClientOperations,
  {
    async getIscsiClients(ctx, request) {
      const page = await clampedList(await visibleRows(ctx, IscsiClient), request, (some) => withTargets(ctx, some))
      return { ...page, entities: page.entities.map(older) }
    },

    async getIscsiClientById(ctx) {
      return shown(ctx, ctx.target)
    },

    async updateIscsiClientById(ctx, { body }) {
      const client = ctx.target
      const { enabledAuthentications = client.enabledAuthentications, ...others } = sparseChanges(IscsiClient, body)
      const changes = { ...others, enabledAuthentications }
      const { client: next, ...task } = await startClientUpdate(ctx, client, changes)
      return { ...task, data: await shown(ctx, next) }
    },

    async getExternalAttachments(ctx, request) {
      const { extId, clusterReference } = ctx.target
      const own = (await attachmentsWith(ctx.store, 'volumeGroupExtId', [extId])).get(extId) ?? []
      const items = own.flatMap(({ iscsiClientExtId }) =>
        iscsiClientExtId === undefined ? [] : { extId: iscsiClientExtId, clusterReference },
      )
      return clampedList(items, request)
    },
  },
  {
    rules: {
      updateIscsiClientById: ({ body }) => [
        ...(Object.keys(body).length === 0 ? [invalid('$', 'expected at least one field to change, found none')] : []),
        ...siteFaults(body),
      ],
    },
  },
)

async function shown(ctx: ReadContext, client: ClientEntity): Promise<Older> {
  const [withOwn] = await withTargets(ctx, [client])
  return older(withOwn as ClientEntity)
}

function older({ attachedTargets, numVirtualTargets: _, clientSecret: __, ...same }: ClientEntity): Older {
  if (attachedTargets === undefined) return same as Older
  return {
    ...same,
    targetParams: attachedTargets.map(({ numVirtualTargets }) =>
      numVirtualTargets === undefined ? {} : { numVirtualTargets },
    ),
    iscsiTargetNames: attachedTargets.flatMap(({ iscsiTargetName }) => iscsiTargetName ?? []),
  } as Older
}
