/** Shared by volumes and storage v4.0.a3. Source: behaviour volumes-storage.md 1.5, 1.8. */

import { IscsiClient } from '@hyperplane/contract/volumes/iscsi-client'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { type ApiError, invalid, refuseAll } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import { rowWithId } from '../../core/standard.ts'
import { type Changes, withoutNulls } from '../../core/updates.ts'
import type { SecretReader } from '../../core/world.ts'
import type { Initiator } from '../../drivers/block-storage.ts'
import type { Reader } from '../../store/store.ts'
import { affected, defineTask, type ReadContext, type WriteContext } from '../context.ts'
import {
  attachmentsWith,
  authenticationOf,
  type ClientEntity,
  claimsOn,
  type Group,
  groupsOfClients,
} from './attachments.ts'
import { requireWritable } from './groups.ts'

export const affectedClient = ({ extId, iscsiInitiatorName: name }: ClientEntity) =>
  affected(IscsiClient, { extId, name })

interface Reading {
  readonly store: Reader
  readonly secrets: SecretReader
}

/** In the order of attach, without volume groups that the caller may not see. */
export async function withTargets(
  ctx: ReadContext,
  clients: readonly ClientEntity[],
): Promise<readonly ClientEntity[]> {
  const groups = await groupsOfClients(ctx, 'iscsiClientExtId', clients)
  return clients.map((client, index) => {
    const { numVirtualTargets } = client
    const attachedTargets = groups[index]!.map(({ targetName: iscsiTargetName }) =>
      defined({ iscsiTargetName, numVirtualTargets }),
    )
    return attachedTargets.length === 0 ? client : { ...client, attachedTargets }
  })
}

/** With the plain secret. Absent authentication means NONE and is omitted in responses. */
export interface ClientChap {
  readonly authentication?: 'CHAP' | 'NONE'
  readonly secret?: string
}

export const chapOf = ({ enabledAuthentications, clientSecret }: Partial<ClientEntity>): ClientChap =>
  defined({ authentication: enabledAuthentications, secret: clientSecret })

export function targetSecretOf(ctx: Reading, group: Group): string | undefined {
  return ctx.secrets.open(
    VolumeGroup.kind,
    group.extId,
    'iscsiFeatures/targetSecret',
    group.iscsiFeatures?.targetSecret,
  )
}

export function clientSecretOf(ctx: Reading, client: ClientEntity): string | undefined {
  return ctx.secrets.open(IscsiClient.kind, client.extId, 'clientSecret', client.clientSecret)
}

export const usesChap = (group: Pick<Group, 'enabledAuthentications' | 'iscsiFeatures'>): boolean =>
  authenticationOf(group) === 'CHAP'

export function secretFaults(chap: ClientChap): ApiError[] {
  const isMissing = chap.authentication === 'CHAP' && chap.secret === undefined
  return isMissing ? [invalid('clientSecret', 'is required with CHAP')] : straySecretFaults(chap)
}

/** The faults that the body alone reveals. */
export const straySecretFaults = ({ authentication, secret }: ClientChap): ApiError[] =>
  authentication !== 'CHAP' && secret !== undefined
    ? [invalid('clientSecret', 'expected only with enabledAuthentications CHAP')]
    : []

/** Sites exist only with synchronous replication, which is not supported. */
export const siteFaults = ({ attachmentSite }: { readonly attachmentSite?: unknown }): ApiError[] =>
  attachmentSite === undefined
    ? []
    : [invalid('attachmentSite', 'expected nothing: it needs synchronous replication, which is not configured')]

/** Client and group must both use CHAP, with different secrets. */
export function mutualFaults(ctx: Reading, { authentication, secret }: ClientChap, group: Group): ApiError[] {
  if (authentication !== 'CHAP') return []
  if (!usesChap(group)) {
    const fault = `CHAP of a client needs CHAP on each of its volume groups; "${group.name}" has none`
    return [invalid('enabledAuthentications', fault)]
  }
  if (secret !== targetSecretOf(ctx, group)) return []
  return [invalid('clientSecret', `expected another secret than that of the volume group "${group.name}"`)]
}

/** @param chap authentication to set; default: the stored one */
export function initiatorOf(ctx: Reading, client: ClientEntity, chap?: ClientChap): Initiator {
  const { ipv4, ipv6, fqdn } = client.iscsiInitiatorNetworkId ?? {}
  return defined({
    clientExtId: client.extId,
    paths: client.numVirtualTargets ?? 32,
    name: client.iscsiInitiatorName,
    address: (ipv4 ?? ipv6 ?? fqdn)?.value,
    chapSecret: chap === undefined ? clientSecretOf(ctx, client) : chap.secret,
  })
}

interface Change {
  readonly clientExtId: string
  readonly chap: ClientChap
  readonly others: Changes<ClientEntity>
}

/** With CHAP, an absent secret keeps the stored one. @returns also the client after the task @throws ApiError 400 */
export async function startClientUpdate(
  ctx: WriteContext,
  client: ClientEntity,
  changes: Changes<ClientEntity>,
): Promise<TaskStarted & { readonly client: ClientEntity }> {
  const { enabledAuthentications, clientSecret: requestedSecret, ...others } = changes
  const chap = completed(ctx, client, chapOf(withoutNulls({ enabledAuthentications, clientSecret: requestedSecret })))
  refuseAll(secretFaults(chap))
  await requireMutual(ctx, client, chap)
  await requireWritable(ctx, client.clusterReference as string)
  await ctx.store.touch(IscsiClient, client.extId)
  const task = await ctx.startTask(
    updateIscsiClient,
    { clientExtId: client.extId, chap, others },
    {
      operation: 'IscsiClientUpdate',
      description: 'Update iSCSI Client',
      affected: [affectedClient(client)],
      clusterExtIds: [client.clusterReference as string],
    },
  )
  const { clientSecret: _, ...shown } = client
  return { ...task, client: { ...shown, ...defined(withoutNulls(others ?? {})), ...chosen(chap) } }
}

const chosen = ({ authentication }: ClientChap): Partial<ClientEntity> =>
  authentication === undefined ? {} : { enabledAuthentications: authentication }

const completed = (ctx: Reading, client: ClientEntity, given: ClientChap): ClientChap => {
  const secret = given.secret ?? (given.authentication === 'CHAP' ? clientSecretOf(ctx, client) : undefined)
  // A PUT without the field resets it to NONE; a client that never had the field keeps omitting it.
  const authentication = given.authentication ?? (client.enabledAuthentications && 'NONE')
  return defined({ authentication, secret })
}

/** Includes volume groups that are being attached. */
async function requireMutual(ctx: Reading, client: ClientEntity, chap: ClientChap): Promise<void> {
  const claims = await claimsOn(ctx.store, 'IscsiClient', client.extId)
  const groups = await ctx.store.getMany(
    VolumeGroup,
    claims.map(({ volumeGroupExtId }) => volumeGroupExtId as string),
  )
  refuseAll(groups.flatMap((group) => mutualFaults(ctx, chap, group)))
}

export const updateIscsiClient = defineTask<Change>({
  name: 'volumes.update-iscsi-client',
  steps: [
    {
      name: 'check',
      progress: 10,
      run: async (ctx, { clientExtId, chap }) =>
        requireMutual(ctx, await rowWithId(ctx.store, IscsiClient, clientExtId), chap),
      // No undo: a check changes nothing.
    },
    {
      name: 'change access lists',
      progress: 90,
      seconds: [1, 3],
      run: async (ctx, { clientExtId, chap }) => {
        const client = await rowWithId(ctx.store, IscsiClient, clientExtId)
        for (const groupExtId of await groupsOf(ctx.store, clientExtId)) {
          await ctx.drivers.blockStorage.allow(groupExtId, initiatorOf(ctx, client, chap))
        }
      },
      undo: async (ctx, { clientExtId }) => {
        const client = await rowWithId(ctx.store, IscsiClient, clientExtId)
        for (const groupExtId of await groupsOf(ctx.store, clientExtId)) {
          await ctx.drivers.blockStorage.allow(groupExtId, initiatorOf(ctx, client))
        }
      },
    },
    {
      name: 'record',
      record: async (ctx, { clientExtId, chap, others }) => {
        await requireMutual(ctx, await rowWithId(ctx.store, IscsiClient, clientExtId), chap)
        const changes = { ...withoutNulls(others), ...chosen(chap), clientSecret: chap.secret }
        await ctx.store.update(IscsiClient, clientExtId, changes)
      },
    },
  ],
})

async function groupsOf(store: Reader, clientExtId: string): Promise<string[]> {
  const attachments = (await attachmentsWith(store, 'iscsiClientExtId', [clientExtId])).get(clientExtId) ?? []
  return attachments.map(({ volumeGroupExtId }) => volumeGroupExtId as string)
}
