/** Described volume groups with their disks and attachments, created by their operations. */

import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { IscsiClient } from '@hyperplane/contract/volumes/iscsi-client'
import { NvmfClient } from '@hyperplane/contract/volumes/nvmf-client'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { seedId } from '../../core/ids/named-id.ts'
import { blockDiskFacts } from '../../drivers/simulated/block-storage.ts'
import { seedIscsiClient } from '../demo/volumes.ts'
import type { Declared, DeclaredOf, DeclaredVolumeGroup } from '../format.ts'
import { bodyOf } from '../readable.ts'
import type { ClusterEntity, Filling } from './filling.ts'

const GiB = 1024 ** 3
/** Limit of disks in a create; further disks are added one by one. */
const disksOfCreation = 10
const day = 24 * 3600

/** Clients without attachments, as after a last detach. */
export async function fillClients(filling: Filling, { iscsiClients, nvmfClients }: Declared): Promise<void> {
  const { ctx } = filling
  await filling.each('iscsiClients', iscsiClients, async (item, path) => {
    const cluster = await filling.clusterOr(item.cluster, path)
    const identity = await identityOf(filling, item, path)
    const isChap = item.enabledAuthentications === 'CHAP'
    const chap = isChap ? { enabledAuthentications: 'CHAP', clientSecret: madeSecret(filling) } : {}
    const { attachmentSite, numVirtualTargets } = item
    const more = {
      ...chap,
      ...(attachmentSite === undefined ? {} : { attachmentSite }),
      ...(numVirtualTargets === undefined ? {} : { numVirtualTargets }),
    }
    filling.judge(path, 'volumes.attachIscsiClient', { ...identity, ...more })
    await seedIscsiClient(ctx, {
      extId: item.extId ?? clientId('iscsi', cluster, item.name),
      ...identity,
      ...more,
      clusterReference: cluster.extId,
      unusedSince: ctx.ago(day),
    } as never)
  })
  await filling.each('nvmfClients', nvmfClients, async (item, path) => {
    const { extId: clusterReference, ...cluster } = await filling.clusterOr(item.cluster, path)
    const { nvmfInitiatorName = item.name } = item
    filling.judge(path, 'volumes.attachNvmfClient', { nvmfInitiatorName })
    const extId = item.extId ?? clientId('nvmf', cluster, item.name)
    await ctx.store.insert(NvmfClient, { extId, tenantId: ctx.tenantId, nvmfInitiatorName, clusterReference })
  })
}

const clientId = (protocol: 'iscsi' | 'nvmf', { name: cluster }: { readonly name: string }, name: string): string =>
  seedId(`${protocol}-client/${cluster}/${name}`)

async function identityOf(filling: Filling, item: DeclaredOf<'iscsiClients'>, path: string): Promise<object> {
  const { iscsiInitiatorName, iscsiInitiatorNetworkId } = item
  if (iscsiInitiatorNetworkId === undefined) return { iscsiInitiatorName: iscsiInitiatorName ?? item.name }
  return bodyOf(IscsiClient.schema.fields, { iscsiInitiatorName, iscsiInitiatorNetworkId }, path, filling)
}

/** A random CHAP secret of 12 to 16 characters. */
const madeSecret = ({ ctx }: Filling): string => ctx.ids.secretBytes(12).toString('base64url')

export const fillVolumeGroups = (filling: Filling, groups: Declared['volumeGroups']): Promise<void> =>
  filling.each('volumeGroups', groups, async (item, path) => {
    const { name, extId = seedId(`volume-group/${name}`), createdBy, sharingStatus, enabledAuthentications } = item
    const { vms = [], iscsiClients = [], nvmfClients = [] } = item
    const users = vms.length + iscsiClients.length + nvmfClients.length
    const [{ cluster, disks }, fields, categoryIds, owner] = await filling.all([
      async () => {
        const cluster = await clusterOf(filling, item, path)
        return { cluster, disks: await disksOf(filling, item, path, cluster) }
      },
      () => bodyOf(VolumeGroup.schema.fields, { ...item, extId: undefined, disks: undefined }, path, filling),
      () => filling.categories(item.categories, `${path}.categories`),
      async () => (item.owner === undefined ? undefined : filling.user(item.owner, `${path}.owner`)),
      async () => {
        if (users > 1 && sharingStatus !== 'SHARED')
          filling.refuse(path, `sharingStatus: expected SHARED for its ${users} users`)
      },
    ])
    const first = disks.slice(0, disksOfCreation)
    await filling.perform(path, 'volumes.createVolumeGroup', {
      called: `volume-group/${name}`,
      ids: [extId, ...first.map(({ extId: disk }) => disk)],
      body: {
        ...fields,
        name,
        clusterReference: cluster.extId,
        ...(createdBy === undefined ? {} : { createdBy }),
        ...(enabledAuthentications === 'CHAP' ? { iscsiFeatures: { targetSecret: madeSecret(filling) } } : {}),
        ...(first.length === 0 ? {} : { disks: first.map(({ body }) => body) }),
      },
    })
    for (const { extId: disk, body } of disks.slice(disksOfCreation))
      await filling.perform(path, 'volumes.createVolumeDisk', {
        called: `volume-disk/${disk}`,
        ids: [disk],
        path: { volumeGroupExtId: extId },
        body,
      })
    for (const disk of disks) await fillUp(filling, disk)
    if (categoryIds.length > 0 || owner !== undefined)
      await filling.ctx.store.observe(VolumeGroup, extId, {
        ...(categoryIds.length === 0 ? {} : { categoryIds: [...categoryIds] }),
        ...(owner === undefined ? {} : { ownerReferenceId: owner.extId }),
      } as never)
    await attachUsers(filling, item, path, extId, cluster)
  })

/** The named cluster, else that of its first VM, else the only one. */
async function clusterOf(
  filling: Filling,
  { cluster, vms }: DeclaredVolumeGroup,
  path: string,
): Promise<ClusterEntity> {
  const [first] = vms ?? []
  if (cluster !== undefined || first === undefined) return filling.clusterOr(cluster, path)
  const vm = await filling.vm(...vmIn(first, `${path}.vms[0]`))
  return (await filling.ctx.store.get(Cluster, vm.cluster?.extId as string)) as ClusterEntity
}

type DeclaredAttachment = NonNullable<DeclaredVolumeGroup['vms']>[number]

/** The name of the VM, and its position in the seed. */
const vmIn = (attachment: DeclaredAttachment, path: string): [name: string, path: string] =>
  typeof attachment === 'string' ? [attachment, path] : [attachment.vm, `${path}.vm`]

interface DescribedDisk {
  readonly extId: string
  readonly body: object
  readonly fullBytes: number
}

async function disksOf(
  filling: Filling,
  item: DeclaredVolumeGroup,
  path: string,
  cluster: ClusterEntity,
): Promise<DescribedDisk[]> {
  const { name, extId, container: usual = 'default', disksGiB = [], disks = [], fullPercent: full = 0 } = item
  type Written = Omit<NonNullable<DeclaredVolumeGroup['disks']>[number], '$objectType'>
  const written: [Written, string][] = [
    ...disksGiB.map((sizeGiB): [Written, string] => [{ sizeGiB }, path]),
    ...disks.map((disk, index): [Written, string] => [disk, `${path}.disks[${index}]`]),
  ]
  const found: DescribedDisk[] = []
  for (const [place, [disk, at]] of written.entries()) {
    const { sizeGiB, container = usual, fullPercent = full } = disk
    const { extId: storage } = await filling.container(cluster, container, `${at}.container`)
    const diskSizeBytes = sizeGiB * GiB
    found.push({
      extId: seedId(`volume-disk/${extId ?? name}/${place}`),
      body: {
        ...(await bodyOf(VolumeDisk.schema.fields, disk, at, filling)),
        diskSizeBytes,
        diskDataSourceReference: { extId: storage, entityType: 'STORAGE_CONTAINER' },
      },
      fullBytes: Math.floor((diskSizeBytes * fullPercent) / 100),
    })
  }
  return found
}

/** Fills the disks to the described level. */
async function fillUp({ ctx }: Filling, { extId, fullBytes }: DescribedDisk): Promise<void> {
  const facts = blockDiskFacts(ctx.world)
  const fact = facts.get(extId)
  if (fullBytes > 0 && fact !== undefined) await facts.put(extId, { ...fact, writtenBytes: fullBytes })
}

async function attachUsers(
  filling: Filling,
  item: DeclaredVolumeGroup,
  path: string,
  extId: string,
  cluster: ClusterEntity,
): Promise<void> {
  const { name: group, vms = [], iscsiClients = [], nvmfClients = [] } = item
  const attach = async (at: string, operation: string, called: string, body: object, ids?: readonly string[]) =>
    filling.perform(at, operation, {
      called: `volume-group-attachment/${group}/${called}`,
      ...(ids === undefined ? {} : { ids }),
      path: { extId },
      body,
    })
  for (const [index, attachment] of vms.entries()) {
    const at = `${path}.vms[${index}]`
    const [name, where] = vmIn(attachment, at)
    const vm = await filling.vm(name, where)
    if (vm.cluster?.extId !== cluster.extId)
      filling.refuse(at, `expected a VM of the cluster ${cluster.name}; ${name} is on another one`)
    const place = typeof attachment === 'string' || attachment.index === undefined ? {} : { index: attachment.index }
    await attach(at, 'volumes.attachVm', name, { extId: vm.extId, ...place })
  }
  for (const [index, name] of iscsiClients.entries()) {
    const at = `${path}.iscsiClients[${index}]`
    const known = await knownClient(filling, IscsiClient, 'iscsi', cluster, name)
    const body = known === undefined ? { iscsiInitiatorName: name } : { extId: known }
    await attach(
      at,
      'volumes.attachIscsiClient',
      name,
      body,
      known === undefined ? [clientId('iscsi', cluster, name)] : undefined,
    )
  }
  for (const [index, name] of nvmfClients.entries()) {
    const at = `${path}.nvmfClients[${index}]`
    const known = await knownClient(filling, NvmfClient, 'nvmf', cluster, name)
    const body = known === undefined ? { nvmfInitiatorName: name } : { extId: known }
    await attach(
      at,
      'volumes.attachNvmfClient',
      name,
      body,
      known === undefined ? [clientId('nvmf', cluster, name)] : undefined,
    )
  }
}

/** The id of a described or existing client of the cluster with this name. */
async function knownClient(
  { ctx }: Filling,
  kind: typeof IscsiClient | typeof NvmfClient,
  protocol: 'iscsi' | 'nvmf',
  cluster: ClusterEntity,
  name: string,
): Promise<string | undefined> {
  const described = await ctx.store.get(kind, clientId(protocol, cluster, name))
  if (described !== undefined) return described.extId
  const field = protocol === 'iscsi' ? 'iscsiInitiatorName' : 'nvmfInitiatorName'
  const named = await ctx.store.findWhere(kind, { clusterReference: cluster.extId, [field]: name })
  return named[0]?.extId
}
