/**
 * The only record of attachments: disks of VMs and targets of clients derive from it. Requests insert pending rows, which count in every
 * rule; their tasks publish them. Source: behaviour volumes-storage.md 1.1, 1.4, 1.5; vmm.md 1.2 (disks that are volume groups).
 */
import type { EntityOf } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { VolumeGroupAttachment } from '@hyperplane/contract/volumes/attachment'
import { IscsiClient } from '@hyperplane/contract/volumes/iscsi-client'
import { NvmfClient } from '@hyperplane/contract/volumes/nvmf-client'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { matchesScope } from '../../core/access/scope.ts'
import { ApiError, invalid } from '../../core/api-error.ts'
import { pathOf, rowWithId } from '../../core/standard.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import { anyOf } from '../../odata/index.ts'
import type { Reader, Transaction } from '../../store/store.ts'
import type { ReadContext } from '../context.ts'

export type Attachment = EntityOf<typeof VolumeGroupAttachment>
export type Group = VolumeGroup
export type ClientEntity = EntityOf<typeof IscsiClient>
export type NvmfEntity = EntityOf<typeof NvmfClient>
export type Consumer = 'vm' | 'iscsiClient' | 'nvmfClient'

const maximum = {
  vms: 16,
  externalClients: 32,
  loadBalancedOfVm: 10,
  targetsOfIscsiClient: 128,
  targetsOfNvmfClient: 20,
}
const scsiSlots = 256

/** Clients may set the authentication in either of two fields. */
export const authenticationOf = (
  group: Partial<Pick<Group, 'enabledAuthentications' | 'iscsiFeatures'>>,
): Group['enabledAuthentications'] => group.enabledAuthentications ?? group.iscsiFeatures?.enabledAuthentications

export const consumerOf = (attachment: Attachment): Consumer => {
  if (attachment.vmExtId !== undefined) return 'vm'
  return attachment.iscsiClientExtId === undefined ? 'nvmfClient' : 'iscsiClient'
}
export const isExternal = (attachment: Attachment): boolean => consumerOf(attachment) !== 'vm'
export const consumerIdOf = (attachment: Attachment): string =>
  (attachment.vmExtId ?? attachment.iscsiClientExtId ?? attachment.nvmfClientExtId) as string

export async function claimsOn(
  store: Reader,
  kind: 'VolumeGroup' | 'Vm' | 'IscsiClient' | 'NvmfClient',
  extId: string,
): Promise<Attachment[]> {
  const rows = await store.referrers(kind, extId, 10_000, { from: VolumeGroupAttachment.kind })
  const found = await Promise.all(rows.map((row) => store.pending(VolumeGroupAttachment, row.extId)))
  return found.filter((attachment) => attachment !== undefined)
}

/** Published only, in the order of attach. */
export async function attachmentsWith(
  store: Reader,
  field: 'volumeGroupExtId' | 'vmExtId' | 'iscsiClientExtId' | 'nvmfClientExtId',
  extIds: readonly string[],
): Promise<ReadonlyMap<string, readonly Attachment[]>> {
  const [first, ...others] = extIds
  if (first === undefined) return new Map()
  // Each GET of a VM queries one id: an index look-up is much cheaper than a filter.
  if (others.length === 0) return new Map([[first, await store.findWhere(VolumeGroupAttachment, { [field]: first })]])
  const found = new Map<string, Attachment[]>(extIds.map((extId) => [extId, []]))
  const filter = anyOf(pathOf(VolumeGroupAttachment, field), extIds)
  for (const attachment of await store.find(VolumeGroupAttachment, { filter })) {
    found.get(attachment[field] as string)?.push(attachment)
  }
  return found
}

/** Without groups that the caller may not see; in the order of attach. */
export async function groupsOfClients(
  ctx: ReadContext,
  field: 'iscsiClientExtId' | 'nvmfClientExtId',
  clients: readonly { readonly extId: string }[],
): Promise<readonly (readonly Group[])[]> {
  const ids = clients.map(({ extId }) => extId)
  const attachments = await attachmentsWith(ctx.store, field, ids)
  const scope = await ctx.scopeOf(VolumeGroup.kind)
  const visible = async (extId: string): Promise<Group[]> => {
    const groupIds = (attachments.get(extId) ?? []).map(({ volumeGroupExtId }) => volumeGroupExtId!)
    return (await ctx.store.getMany(VolumeGroup, groupIds)).filter((group) => matchesScope(scope, group))
  }
  return Promise.all(ids.map(visible))
}

export async function attachmentOf(
  store: Reader,
  group: Group,
  consumer: { readonly extId: string },
): Promise<Attachment | undefined> {
  const own = (await attachmentsWith(store, 'volumeGroupExtId', [group.extId])).get(group.extId)
  return own?.find((attachment) => consumerIdOf(attachment) === consumer.extId)
}

export async function requireAttachment(
  store: Reader,
  group: Group,
  consumer: { readonly extId: string },
  called: string,
): Promise<Attachment> {
  const attachment = await attachmentOf(store, group, consumer)
  if (attachment === undefined) throw new ApiError('NOT_ATTACHED', { name: group.name, consumer: called })
  return attachment
}

export function requireGroupNotDeleting(group: Group): void {
  if (group.isDeleting === true) throw new ApiError('VOLUME_GROUP_BUSY', { name: group.name, state: 'being deleted' })
}

export function requireGroupNotReverting({ isReverting, name }: Group): void {
  if (isReverting === true) throw new ApiError('VOLUME_GROUP_BUSY', { name, state: 'being reverted' })
}

/** @param index on the SCSI bus; default: the lowest free one */
export async function claimForVm(
  ctx: { readonly store: Transaction; readonly ids: { uuid(): string }; readonly tenantId: string },
  group: Group,
  vm: Vm,
  index?: number,
): Promise<Attachment> {
  if (vm.cluster?.extId !== group.clusterReference) {
    throw new ApiError('VM_ON_ANOTHER_CLUSTER', { vm: vm.name, name: group.name })
  }
  const scsiIndex = await freeIndex(ctx.store, vm, index)
  return claim(ctx, { extId: ctx.ids.uuid(), volumeGroupExtId: group.extId, vmExtId: vm.extId, scsiIndex })
}

export const claimForClient = (
  ctx: { readonly store: Transaction; readonly ids: { uuid(): string } },
  group: Group,
  client: Pick<Attachment, 'iscsiClientExtId' | 'nvmfClientExtId'>,
): Promise<Attachment> => claim(ctx, { extId: ctx.ids.uuid(), volumeGroupExtId: group.extId, ...client })

async function claim(ctx: { readonly store: Transaction }, attachment: Attachment): Promise<Attachment> {
  requireGroupNotReverting(await requireGroupAttachable(ctx.store, attachment))
  await ctx.store.insert(VolumeGroupAttachment, attachment, { pending: true })
  await touchEnds(ctx.store, attachment)
  return attachment
}

/** Checks all rules again: the group and its other claims may have changed since the request. */
export async function confirm(store: Transaction, attachmentExtId: string): Promise<void> {
  const attachment = await requireClaim(store, attachmentExtId)
  const group = await requireGroupAttachable(store, attachment)
  const vm = attachment.vmExtId === undefined ? undefined : await store.get(Vm, attachment.vmExtId)
  if (vm !== undefined && vm.cluster?.extId !== group.clusterReference)
    throw new ApiError('VM_ON_ANOTHER_CLUSTER', { vm: vm.name, name: group.name })
  await store.publish(VolumeGroupAttachment, attachmentExtId)
  // The type and protocol of the creation apply only until the first attachment.
  await store.update(VolumeGroup, group.extId, { attachmentType: 'NONE', protocol: 'NOT_ASSIGNED' })
  await touchEnds(store, attachment)
}

/** @throws ApiError when the VM was deleted with its claim */
export async function requireClaim(store: Reader, attachmentExtId: string): Promise<Attachment> {
  const attachment = await store.pending(VolumeGroupAttachment, attachmentExtId)
  if (attachment === undefined) throw takenBack()
  return attachment
}

/** @throws ApiError when another task has detached it */
export async function requireAttached(store: Reader, attachment: Attachment): Promise<void> {
  if (!(await store.has(VolumeGroupAttachment, attachment.extId))) throw takenBack()
}

const takenBack = (): ApiError =>
  new ApiError('CONFLICT', { fault: 'The attachment was withdrawn while the task waited.' })

export async function drop(store: Transaction, attachment: Attachment): Promise<void> {
  await store.remove(VolumeGroupAttachment, attachment.extId)
  await touchEnds(store, attachment)
}

/** A client that was never published goes with its last claim. */
export async function abandon(
  store: Transaction,
  kind: typeof IscsiClient | typeof NvmfClient,
  attachment: Attachment,
): Promise<void> {
  await drop(store, attachment)
  const clientExtId = consumerIdOf(attachment)
  const isSeen = (await store.get(kind, clientExtId)) !== undefined
  const isWanted = (await claimsOn(store, kind.kind as 'IscsiClient' | 'NvmfClient', clientExtId)).length > 0
  if (!isSeen && !isWanted) await store.remove(kind, clientExtId)
}

/** Changes the ETags of group and VM; the targets of a client are derived and not part of its ETag. */
export async function touchEnds(store: Transaction, { volumeGroupExtId, vmExtId }: Attachment): Promise<void> {
  await store.touch(VolumeGroup, volumeGroupExtId as string)
  if (vmExtId !== undefined) await store.touch(Vm, vmExtId)
}

/** Includes groups with pending claims. */
export async function plugGroups(ctx: Acting, vmExtId: string): Promise<void> {
  for (const { volumeGroupExtId, scsiIndex } of await claimsOn(ctx.store, 'Vm', vmExtId)) {
    await ctx.drivers.blockStorage.plug(volumeGroupExtId!, vmExtId, scsiIndex!)
  }
}

export async function unplugGroups(ctx: Acting, vmExtId: string): Promise<void> {
  for (const { volumeGroupExtId } of await claimsOn(ctx.store, 'Vm', vmExtId)) {
    await ctx.drivers.blockStorage.unplug(volumeGroupExtId!, vmExtId)
  }
}

interface Acting {
  readonly store: Reader
  readonly drivers: Pick<Drivers, 'blockStorage'>
}

/** Source: behaviour volumes-storage.md 1.1. @throws ApiError */
export async function requireGroupAttachable(store: Reader, attachment: Attachment): Promise<Group> {
  const group = await rowWithId(store, VolumeGroup, attachment.volumeGroupExtId as string)
  requireGroupNotDeleting(group)
  const others = (await claimsOn(store, 'VolumeGroup', group.extId)).filter(({ extId }) => extId !== attachment.extId)
  const name = group.name
  if (others.some((other) => consumerIdOf(other) === consumerIdOf(attachment))) {
    throw new ApiError('ALREADY_ATTACHED', { name, consumer: await nameOfConsumer(store, attachment) })
  }
  if (group.sharingStatus !== 'SHARED' && others.length > 0) throw new ApiError('VOLUME_GROUP_NOT_SHARED', { name })
  if (isExternal(attachment)) await requireExternal(store, group, attachment, others)
  else await requireRoomOnVm(store, group, attachment, others)
  return group
}

async function requireExternal(
  store: Reader,
  group: Group,
  attachment: Attachment,
  others: readonly Attachment[],
): Promise<void> {
  const { name } = group
  if (group.shouldLoadBalanceVmAttachments === true) {
    throw new ApiError('LOAD_BALANCING_EXCLUDES_EXTERNAL_CLIENTS', { name })
  }
  if (attachment.nvmfClientExtId !== undefined && authenticationOf(group) === 'CHAP') {
    const reason = 'it demands CHAP, which NVMe-TCP clients do not speak'
    throw new ApiError('PROTOCOL_MISMATCH', { name, protocol: 'iSCSI', reason })
  }
  const external = others.filter(isExternal)
  if (external.some((other) => consumerOf(other) !== consumerOf(attachment))) {
    const protocol = consumerOf(attachment) === 'iscsiClient' ? 'NVMe-TCP' : 'iSCSI'
    throw new ApiError('PROTOCOL_MISMATCH', { name, protocol, reason: 'its clients all speak one protocol' })
  }
  const cluster = await store.get(Cluster, group.clusterReference)
  const address = cluster?.network?.externalDataServiceIp
  if (address?.ipv4 === undefined && address?.ipv6 === undefined) {
    throw new ApiError('NO_DATA_SERVICES_ADDRESS', { cluster: cluster?.name ?? group.clusterReference })
  }
  requireBelow('External clients of a volume group', maximum.externalClients, external.length)
  const targets = (kind: 'IscsiClient' | 'NvmfClient', extId: string): Promise<number> =>
    claimsOn(store, kind, extId).then((all) => all.filter((other) => other.extId !== attachment.extId).length)
  const { iscsiClientExtId, nvmfClientExtId } = attachment
  if (iscsiClientExtId !== undefined) {
    const present = await targets('IscsiClient', iscsiClientExtId)
    requireBelow('Targets of an iSCSI client', maximum.targetsOfIscsiClient, present)
  } else if (nvmfClientExtId !== undefined) {
    const present = await targets('NvmfClient', nvmfClientExtId)
    requireBelow('Targets of an NVMe-TCP client', maximum.targetsOfNvmfClient, present)
  }
}

async function requireRoomOnVm(
  store: Reader,
  group: Group,
  attachment: Attachment,
  others: readonly Attachment[],
): Promise<void> {
  requireBelow('VMs of a volume group', maximum.vms, others.filter((other) => !isExternal(other)).length)
  if (group.shouldLoadBalanceVmAttachments === true) await requireRoomToBalance(store, group, attachment)
}

export async function requireRoomToBalance(store: Reader, group: Group, { vmExtId }: Attachment): Promise<void> {
  let balanced = 0
  for (const { volumeGroupExtId } of await claimsOn(store, 'Vm', vmExtId as string)) {
    const other = volumeGroupExtId === group.extId ? undefined : await store.get(VolumeGroup, volumeGroupExtId!)
    if (other?.shouldLoadBalanceVmAttachments === true) balanced++
  }
  requireBelow('Load-balanced volume groups of a VM', maximum.loadBalancedOfVm, balanced)
}

function requireBelow(limit: string, most: number, present: number): void {
  if (present >= most) throw new ApiError('LIMIT_EXCEEDED', { limit, maximum: most, found: present + 1 })
}

async function freeIndex(store: Reader, vm: Vm, wanted: number | undefined): Promise<number> {
  const taken = new Set((await claimsOn(store, 'Vm', vm.extId)).map(({ scsiIndex }) => scsiIndex))
  for (const { diskAddress } of [...(vm.disks ?? []), ...(vm.cdRoms ?? [])]) {
    if (diskAddress?.busType === 'SCSI') taken.add(diskAddress.index)
  }
  if (wanted !== undefined) {
    if (taken.has(wanted))
      throw new ApiError('INDEX_IN_USE', { fields: `SCSI index, ${wanted}, on the VM "${vm.name}"` })
    return wanted
  }
  for (let index = 0; index < scsiSlots; index++) if (!taken.has(index)) return index
  throw invalid('extId', `the SCSI bus of the VM "${vm.name}" has no free index`)
}

export async function nameOfConsumer(store: Reader, attachment: Attachment): Promise<string> {
  const extId = consumerIdOf(attachment)
  switch (consumerOf(attachment)) {
    case 'vm':
      return `the VM "${(await store.get(Vm, extId))?.name ?? extId}"`
    case 'iscsiClient':
      return `the iSCSI client "${(await store.pending(IscsiClient, extId))?.iscsiInitiatorName ?? extId}"`
    case 'nvmfClient':
      return `the NVMe-TCP client "${(await store.pending(NvmfClient, extId))?.nvmfInitiatorName ?? extId}"`
  }
}

export async function withVolumeGroups(store: Reader, vms: readonly Vm[]): Promise<readonly Vm[]> {
  const attached = await attachmentsWith(
    store,
    'vmExtId',
    vms.map(({ extId }) => extId),
  )
  return vms.map((vm) => withAttached(vm, attached.get(vm.extId) ?? []))
}

export function withAttached(vm: Vm, attached: readonly Attachment[]): Vm {
  if (attached.length === 0) return vm
  return { ...vm, disks: [...(vm.disks ?? []), ...attached.map(diskEntryOf)] }
}

type DiskEntry = NonNullable<Vm['disks']>[number]

function diskEntryOf({ extId, volumeGroupExtId, scsiIndex }: Attachment): DiskEntry {
  return {
    extId,
    backingInfo: { $objectType: 'vmm.v4.ahv.config.ADSFVolumeGroupReference', volumeGroupExtId: volumeGroupExtId! },
    diskAddress: { busType: 'SCSI', index: scsiIndex! },
  }
}
