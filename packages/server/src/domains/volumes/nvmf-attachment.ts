/**
 * Attaches volume groups to NVMe-TCP clients. As with iSCSI, the first attach of a client creates it and the last
 * detach does not remove it; there is no CHAP, and clients cannot be updated.
 * Source: behaviour volumes-storage.md 1.1, 1.6.
 */
import { NvmfClient } from '@hyperplane/contract/volumes/nvmf-client'
import { invalid } from '../../core/api-error.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import { created } from '../../core/updates.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Reader } from '../../store/store.ts'
import {
  type Attachment,
  abandon,
  claimForNvmfClient,
  confirm,
  drop,
  type Group,
  type NvmfEntity,
  requireAttachment,
  requireClaim,
  requireGroupAttachable,
  requireMade,
  touchEnds,
} from '../block-volumes/attachments.ts'
import { affected, requireUsable } from '../block-volumes/groups.ts'
import { defineTask, type WriteContext } from '../context.ts'
import { heldClient, requireOneCluster, toldOf } from './external-clients.ts'

interface OfAttachment {
  readonly attachment: Attachment
}

type ClientBody = Pick<Partial<NvmfEntity>, 'extId' | 'nvmfInitiatorName'>

export async function attachNvmf(ctx: WriteContext, group: Group, body: ClientBody): Promise<TaskStarted> {
  const client = await clientOf(ctx, group, body)
  const cluster = await requireUsable(ctx, group)
  const attachment = await claimForNvmfClient(ctx, group, client)
  return ctx.startTask(
    attachNvmfClient,
    { attachment },
    {
      ...toldOf('attach', 'NVMe-TCP'),
      affected: [affectedClient(client), affected(group)],
      clusterExtIds: [cluster.extId],
    },
  )
}

export async function detachNvmf(ctx: WriteContext, group: Group, body: ClientBody): Promise<TaskStarted> {
  const cluster = await requireUsable(ctx, group)
  const client = (await ctx.store.get(NvmfClient, body.extId as string)) as NvmfEntity
  requireSameName(client, body)
  const attachment = await requireAttachment(ctx.store, group, client, called(client))
  await touchEnds(ctx.store, attachment)
  return ctx.startTask(
    detachNvmfClient,
    { attachment },
    {
      ...toldOf('detach', 'NVMe-TCP'),
      affected: [affectedClient(client), affected(group)],
      clusterExtIds: [cluster.extId],
    },
  )
}

const attachNvmfClient = defineTask<OfAttachment>({
  name: 'volumes.attach-nvmf-client',
  cancelableUntil: 'record',
  steps: [
    {
      name: 'check',
      progress: 10,
      run: async (ctx, { attachment }) => {
        await requireClaim(ctx.store, attachment.extId)
        await requireGroupAttachable(ctx.store, attachment)
      },
      // No undo: a check changes nothing.
    },
    {
      name: 'allow',
      progress: 80,
      seconds: [1, 3],
      run: (ctx, { attachment }) => allow(ctx, attachment),
      undo: ({ drivers }, { attachment }) => deny(drivers, attachment),
    },
    {
      name: 'record',
      progress: 100,
      record: async (ctx, { attachment }) => {
        await confirm(ctx.store, attachment.extId)
        await ctx.store.publish(NvmfClient, attachment.nvmfClientExtId!)
      },
    },
  ],
  onUndone: (ctx, { attachment }) => abandon(ctx.store, NvmfClient, attachment),
})

const detachNvmfClient = defineTask<OfAttachment>({
  name: 'volumes.detach-nvmf-client',
  steps: [
    {
      name: 'check',
      progress: 10,
      run: (ctx, { attachment }) => requireMade(ctx.store, attachment),
      // No undo: a check changes nothing.
    },
    {
      name: 'deny',
      progress: 80,
      seconds: [1, 3],
      run: ({ drivers }, { attachment }) => deny(drivers, attachment),
      undo: (ctx, { attachment }) => allow(ctx, attachment),
    },
    { name: 'record', progress: 100, record: (ctx, { attachment }) => drop(ctx.store, attachment) },
  ],
})

export const nvmfAttachmentTasks = [attachNvmfClient, detachNvmfClient]

async function allow(
  { store, drivers }: { readonly store: Reader; readonly drivers: Drivers },
  { volumeGroupExtId, nvmfClientExtId }: Attachment,
): Promise<void> {
  const { extId, nvmfInitiatorName: name } = (await store.pending(NvmfClient, nvmfClientExtId!)) as NvmfEntity
  await drivers.blockStorage.allow(volumeGroupExtId!, {
    clientExtId: extId,
    paths: 1,
    ...(name === undefined ? {} : { name }),
  })
}

const deny = ({ blockStorage }: Drivers, { volumeGroupExtId, nvmfClientExtId }: Attachment): Promise<void> =>
  blockStorage.deny(volumeGroupExtId!, nvmfClientExtId!)

const affectedClient = ({ extId, nvmfInitiatorName: name }: NvmfEntity) => ({
  extId,
  ...(name === undefined ? {} : { name }),
  rel: NvmfClient.rel!,
})

/** The client that the body names, or a new one. @throws ApiError 400; 409 for a client of another cluster */
async function clientOf(ctx: WriteContext, group: Group, body: ClientBody): Promise<NvmfEntity> {
  if (body.extId !== undefined) {
    const client = (await ctx.store.get(NvmfClient, body.extId)) as NvmfEntity
    requireSameName(client, body)
    requireOneCluster(group, client, called(client))
    return client
  }
  const { nvmfInitiatorName } = body
  if (nvmfInitiatorName === undefined) {
    throw invalid('nvmfInitiatorName', 'expected it, or the extId of a client that exists; found neither')
  }
  const client = created(ctx, NvmfClient, body, { clusterReference: group.clusterReference })
  const isSame = (other: NvmfEntity): boolean => other.nvmfInitiatorName === nvmfInitiatorName
  return (await heldClient(ctx.store, NvmfClient, client, isSame)).client
}

function requireSameName(client: NvmfEntity, { nvmfInitiatorName }: ClientBody): void {
  if (nvmfInitiatorName === undefined || nvmfInitiatorName === client.nvmfInitiatorName) return
  throw invalid('nvmfInitiatorName', 'expected that of the client which extId names, or none')
}

const called = ({ extId, nvmfInitiatorName }: NvmfEntity): string =>
  `The NVMe-TCP client "${nvmfInitiatorName ?? extId}"`
