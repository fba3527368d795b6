/** As for iSCSI, but without CHAP and updates of clients. Source: behaviour volumes-storage.md 1.1, 1.6. */
import { NvmfClient } from '@hyperplane/contract/volumes/nvmf-client'
import { invalid } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import { created } from '../../core/updates.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Reader } from '../../store/store.ts'
import {
  type Attachment,
  abandon,
  claimForClient,
  confirm,
  drop,
  type Group,
  type NvmfEntity,
} from '../block-volumes/attachments.ts'
import type { WriteContext } from '../context.ts'
import { attachmentLifeCycle } from './attachment-life-cycle.ts'
import { claimClient, requireOneCluster } from './external-clients.ts'

type ClientBody = Pick<Partial<NvmfEntity>, 'extId' | 'nvmfInitiatorName'>

const lifeCycle = attachmentLifeCycle<NvmfEntity>({
  name: 'nvmf-client',
  title: 'NVMe-TCP Client',
  affected: ({ extId, nvmfInitiatorName: name }) => defined({ extId, name, rel: NvmfClient.rel }),
  called,
  verbs: ['allow', 'deny'],
  connect: allow,
  disconnect: ({ drivers }, { volumeGroupExtId, nvmfClientExtId }) =>
    drivers.blockStorage.deny(volumeGroupExtId!, nvmfClientExtId!),
  attached: async ({ store }, { extId, nvmfClientExtId }) => {
    await confirm(store, extId)
    await store.publish(NvmfClient, nvmfClientExtId!)
  },
  detached: ({ store }, attachment) => drop(store, attachment),
  abandoned: ({ store }, claimed) => abandon(store, NvmfClient, claimed),
})

export const nvmfAttachmentTasks = lifeCycle.tasks

export async function attachNvmf(ctx: WriteContext, group: Group, body: ClientBody): Promise<TaskStarted> {
  const client = await clientOf(ctx, group, body)
  return lifeCycle.attach(ctx, group, client, () => claimForClient(ctx, group, { nvmfClientExtId: client.extId }))
}

export const detachNvmf = (ctx: WriteContext, group: Group, body: ClientBody): Promise<TaskStarted> =>
  lifeCycle.detach(ctx, group, () => namedClient(ctx, body))

async function allow(
  { store, drivers }: { readonly store: Reader; readonly drivers: Drivers },
  { volumeGroupExtId, nvmfClientExtId }: Attachment,
): Promise<void> {
  const { extId, nvmfInitiatorName: name } = (await store.pending(NvmfClient, nvmfClientExtId!)) as NvmfEntity
  await drivers.blockStorage.allow(volumeGroupExtId!, defined({ clientExtId: extId, paths: 1, name }))
}

/** @returns a new client unless the body names one @throws ApiError 400; 409 for a client of another cluster */
async function clientOf(ctx: WriteContext, group: Group, body: ClientBody): Promise<NvmfEntity> {
  if (body.extId !== undefined) {
    const client = await namedClient(ctx, body)
    requireOneCluster(group, client, called(client))
    return client
  }
  const { nvmfInitiatorName } = body
  if (nvmfInitiatorName === undefined) {
    throw invalid('nvmfInitiatorName', 'expected it, or the extId of a client that exists; found neither')
  }
  const client = created(ctx, NvmfClient, body, { clusterReference: group.clusterReference })
  const isSame = (other: NvmfEntity): boolean => other.nvmfInitiatorName === nvmfInitiatorName
  return (await claimClient(ctx.store, NvmfClient, client, isSame)).client
}

/** @throws ApiError 400 when the body has another name for `extId` */
async function namedClient(ctx: WriteContext, { extId, nvmfInitiatorName }: ClientBody): Promise<NvmfEntity> {
  const client = (await ctx.store.get(NvmfClient, extId as string)) as NvmfEntity
  if (nvmfInitiatorName === undefined || nvmfInitiatorName === client.nvmfInitiatorName) return client
  throw invalid('nvmfInitiatorName', 'expected that of the client which extId names, or none')
}

function called({ extId, nvmfInitiatorName }: NvmfEntity): string {
  return `The NVMe-TCP client "${nvmfInitiatorName ?? extId}"`
}
