/** The last detach does not remove the client. Source: behaviour volumes-storage.md 1.1, 1.5. */
import { IscsiClient } from '@hyperplane/contract/volumes/iscsi-client'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { type ApiError, invalid, refuseAll } from '../../core/api-error.ts'
import { defined } from '../../core/defined.ts'
import type { TaskStarted } from '../../core/handlers.ts'
import { formatAddress, parseAddress } from '../../core/ip-address.ts'
import { formatTime } from '../../core/time/clock.ts'
import { created } from '../../core/updates.ts'
import {
  abandon,
  type ClientEntity,
  claimForClient,
  claimsOn,
  confirm,
  drop,
  type Group,
} from '../block-volumes/attachments.ts'
import {
  affectedClient,
  type ClientChap,
  chapOf,
  clientSecretOf,
  initiatorOf,
  mutualFaults,
  secretFaults,
} from '../block-volumes/iscsi-clients.ts'
import type { ScheduleContext, WriteContext } from '../context.ts'
import { attachmentLifeCycle } from './attachment-life-cycle.ts'
import { claimClient, requireOneCluster } from './external-clients.ts'

const defaultTargets = 32
const unusedRetentionMillis = 90 * 24 * 3600 * 1000

export type ClientBody = Partial<ClientEntity>

const lifeCycle = attachmentLifeCycle<ClientEntity>({
  name: 'iscsi-client',
  title: 'iSCSI Client',
  affected: affectedClient,
  called,
  verbs: ['allow', 'deny'],
  connect: async (ctx, { volumeGroupExtId, iscsiClientExtId }) => {
    const client = await ctx.store.pending(IscsiClient, iscsiClientExtId!)
    if (client !== undefined) await ctx.drivers.blockStorage.allow(volumeGroupExtId!, initiatorOf(ctx, client))
  },
  disconnect: ({ drivers }, { volumeGroupExtId, iscsiClientExtId }) =>
    drivers.blockStorage.deny(volumeGroupExtId!, iscsiClientExtId!),
  attached: async (ctx, { extId, volumeGroupExtId, iscsiClientExtId }) => {
    const client = (await ctx.store.pending(IscsiClient, iscsiClientExtId!)) as ClientEntity
    const group = await ctx.store.get(VolumeGroup, volumeGroupExtId!)
    if (group !== undefined) refuseAll(mutualFaults(ctx, storedChap(ctx, client), group))
    await confirm(ctx.store, extId)
    await ctx.store.observe(IscsiClient, client.extId, { unusedSince: undefined })
    await ctx.store.publish(IscsiClient, client.extId)
  },
  detached: async ({ store, clock }, attachment) => {
    await drop(store, attachment)
    if ((await claimsOn(store, 'IscsiClient', attachment.iscsiClientExtId!)).length > 0) return
    await store.observe(IscsiClient, attachment.iscsiClientExtId!, { unusedSince: clock.iso() })
  },
  abandoned: ({ store }, claimed) => abandon(store, IscsiClient, claimed),
})

export const iscsiAttachmentTasks = lifeCycle.tasks

export async function attachClient(ctx: WriteContext, group: Group, given: ClientBody): Promise<TaskStarted> {
  const body = { ...given, ...canonicalAddress(given) }
  const { client, isNew } = await clientOf(ctx, group, body)
  refuseAll(isNew ? secretFaults(chapOf(body)) : differences(ctx, client, body))
  refuseAll(mutualFaults(ctx, isNew ? chapOf(body) : storedChap(ctx, client), group))
  return lifeCycle.attach(ctx, group, client, () => claimForClient(ctx, group, { iscsiClientExtId: client.extId }))
}

export const detachClient = (ctx: WriteContext, group: Group, clientExtId: string): Promise<TaskStarted> =>
  lifeCycle.detach(ctx, group, async () => (await ctx.store.get(IscsiClient, clientExtId)) as ClientEntity)

export function identityFaults({
  extId,
  iscsiInitiatorName,
  iscsiInitiatorNetworkId: address,
}: ClientBody): ApiError[] {
  const faults: ApiError[] = []
  const given = [iscsiInitiatorName, address].filter((identity) => identity !== undefined).length
  if (given > 1 || (given === 0 && extId === undefined)) {
    const expected = extId === undefined ? 'exactly' : 'at most'
    const fault = `expected ${expected} one of iscsiInitiatorName and iscsiInitiatorNetworkId, found ${given}`
    faults.push(invalid('iscsiInitiatorName', fault))
  }
  const forms = [address?.ipv4, address?.ipv6, address?.fqdn].filter((form) => form !== undefined).length
  if (address !== undefined && forms !== 1) {
    faults.push(invalid('iscsiInitiatorNetworkId', `expected exactly one of ipv4, ipv6 and fqdn, found ${forms}`))
  } else if (address?.ipv6 !== undefined && parseAddress('IPV6', address.ipv6.value) === undefined) {
    const fault = `expected an IPv6 address, found "${address.ipv6.value}"`
    faults.push(invalid('iscsiInitiatorNetworkId/ipv6/value', fault))
  }
  return faults
}

/** @returns a new client unless the body names one @throws ApiError 409 for a client of another cluster */
async function clientOf(
  ctx: WriteContext,
  group: Group,
  body: ClientBody,
): Promise<{ client: ClientEntity; isNew: boolean }> {
  if (body.extId !== undefined) {
    const client = (await ctx.store.get(IscsiClient, body.extId)) as ClientEntity
    requireOneCluster(group, client, called(client))
    return { client, isNew: false }
  }
  const client = created(ctx, IscsiClient, body, {
    numVirtualTargets: body.numVirtualTargets ?? defaultTargets,
    clusterReference: group.clusterReference,
  })
  return claimClient(ctx.store, IscsiClient, client, (other) => identityOf(other) === identityOf(client))
}

/** Makes all spellings of an IPv6 address one client. */
function canonicalAddress({ iscsiInitiatorNetworkId: address }: ClientBody): ClientBody {
  const parsed = address?.ipv6 === undefined ? undefined : parseAddress('IPV6', address.ipv6.value)
  if (address?.ipv6 === undefined || parsed === undefined) return {}
  return { iscsiInitiatorNetworkId: { ipv6: { ...address.ipv6, value: formatAddress(parsed) } } }
}

/** Compares without case. */
function identityOf({ iscsiInitiatorName, iscsiInitiatorNetworkId: address }: ClientBody): string {
  if (iscsiInitiatorName !== undefined) return `name ${iscsiInitiatorName.toLowerCase()}`
  return `address ${(address?.ipv4 ?? address?.ipv6 ?? address?.fqdn)?.value.toLowerCase()}`
}

/** Fields of the body must equal the stored ones, because an attach cannot change a client. */
function differences(ctx: WriteContext, client: ClientEntity, body: ClientBody): ApiError[] {
  const faults: ApiError[] = []
  const differs = (field: string, expected: string | number): void =>
    void faults.push(invalid(field, `the client exists with ${expected}; change it with updateIscsiClientById`))
  const hasIdentity = body.iscsiInitiatorName !== undefined || body.iscsiInitiatorNetworkId !== undefined
  if (hasIdentity && identityOf(client) !== identityOf(body)) {
    const field = body.iscsiInitiatorName === undefined ? 'iscsiInitiatorNetworkId' : 'iscsiInitiatorName'
    faults.push(invalid(field, 'expected that of the client which extId names, or none'))
  }
  if (body.numVirtualTargets !== undefined && body.numVirtualTargets !== client.numVirtualTargets) {
    differs('numVirtualTargets', client.numVirtualTargets ?? defaultTargets)
  }
  if (body.enabledAuthentications === 'CHAP' && client.enabledAuthentications !== 'CHAP') {
    differs('enabledAuthentications', 'NONE')
  } else if (body.clientSecret !== undefined && body.clientSecret !== clientSecretOf(ctx, client)) {
    differs('clientSecret', client.enabledAuthentications === 'CHAP' ? 'another secret' : 'none')
  }
  return faults
}

function storedChap(ctx: Parameters<typeof clientSecretOf>[0], client: ClientEntity): ClientChap {
  return defined({ authentication: client.enabledAuthentications, secret: clientSecretOf(ctx, client) })
}

function called({ extId, iscsiInitiatorName }: ClientEntity): string {
  return `The iSCSI client "${iscsiInitiatorName ?? extId}"`
}

export async function removeUnused({ store, clock }: ScheduleContext): Promise<void> {
  const before = formatTime(clock.now() - unusedRetentionMillis)
  await store.transaction(async (transaction) => {
    for (const client of await transaction.find(IscsiClient)) {
      if (client.unusedSince === undefined || client.unusedSince >= before) continue
      if ((await claimsOn(transaction, 'IscsiClient', client.extId)).length > 0) continue
      await transaction.remove(IscsiClient, client.extId)
    }
  })
}
