import type { AnyResource } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { IscsiClient } from '@hyperplane/contract/volumes/iscsi-client'
import { NvmfClient } from '@hyperplane/contract/volumes/nvmf-client'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { defined } from '../../core/defined.ts'
import { seedId } from '../../core/ids/named-id.ts'
import { emptyIn } from '../../domains/block-volumes/disks.ts'
import { blockDiskFacts } from '../../drivers/simulated/block-facts.ts'
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
    const chap = isChap ? { enabledAuthentications: 'CHAP' as const, clientSecret: randomSecret(filling) } : {}
    const { attachmentSite, numVirtualTargets } = item
    const more = { ...chap, ...defined({ attachmentSite, numVirtualTargets }) }
    filling.judge(path, 'volumes.attachIscsiClient', { ...identity, ...more })
    await seedIscsiClient(ctx, {
      extId: item.extId ?? clientId('iscsi', cluster, item.name),
      ...identity,
      ...more,
      clusterReference: cluster.extId,
      unusedSince: ctx.ago(day),
    })
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

const randomSecret = ({ ctx }: Filling): string => ctx.ids.secretBytes(12).toString('base64url')

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
      extId,
      partIds: first.map(({ extId: disk }) => disk),
      body: {
        ...fields,
        name,
        clusterReference: cluster.extId,
        ...defined({ createdBy }),
        ...(enabledAuthentications === 'CHAP' ? { iscsiFeatures: { targetSecret: randomSecret(filling) } } : {}),
        ...(first.length === 0 ? {} : { disks: first.map(({ body }) => body) }),
      },
    })
    for (const { extId: disk, body } of disks.slice(disksOfCreation))
      await filling.perform(path, 'volumes.createVolumeDisk', {
        called: `volume-disk/${disk}`,
        extId: disk,
        path: { volumeGroupExtId: extId },
        body,
      })
    for (const disk of disks) await fillUp(filling, disk)
    if (categoryIds.length > 0 || owner !== undefined)
      await filling.ctx.store.observe(VolumeGroup, extId, {
        ...(categoryIds.length === 0 ? {} : { categoryIds: [...categoryIds] }),
        ...defined({ ownerReferenceId: owner?.extId }),
      })
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
  const {
    name,
    extId,
    container: defaultContainer = 'default',
    disksGiB = [],
    disks = [],
    fullPercent: full = 0,
  } = item
  type Written = Omit<NonNullable<DeclaredVolumeGroup['disks']>[number], '$objectType'>
  const written: [Written, string][] = [
    ...disksGiB.map((sizeGiB): [Written, string] => [{ sizeGiB }, path]),
    ...disks.map((disk, index): [Written, string] => [disk, `${path}.disks[${index}]`]),
  ]
  const described: DescribedDisk[] = []
  for (const [place, [disk, at]] of written.entries()) {
    const { sizeGiB, container = defaultContainer, fullPercent = full } = disk
    const { extId: storage } = await filling.container(cluster, container, `${at}.container`)
    const diskSizeBytes = sizeGiB * GiB
    described.push({
      extId: seedId(`volume-disk/${extId ?? name}/${place}`),
      body: {
        ...(await bodyOf(VolumeDisk.schema.fields, disk, at, filling)),
        diskSizeBytes,
        diskDataSourceReference: emptyIn(storage),
      },
      fullBytes: Math.floor((diskSizeBytes * fullPercent) / 100),
    })
  }
  return described
}

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
  const attach = (at: string, operation: string, called: string, body: object, clientExtId?: string): Promise<void> =>
    filling.perform(at, operation, {
      called: `volume-group-attachment/${group}/${called}`,
      extId: clientExtId,
      path: { extId },
      body,
    })
  for (const [position, attachment] of vms.entries()) {
    const at = `${path}.vms[${position}]`
    const [name, where] = vmIn(attachment, at)
    const vm = await filling.vm(name, where)
    if (vm.cluster?.extId !== cluster.extId)
      filling.refuse(at, `expected a VM of the cluster ${cluster.name}; ${name} is on another one`)
    const index = typeof attachment === 'string' ? undefined : attachment.index
    await attach(at, 'volumes.attachVm', name, defined({ extId: vm.extId, index }))
  }
  for (const [protocol, clients] of [['iscsi', iscsiClients] as const, ['nvmf', nvmfClients] as const]) {
    const { section, nameField, operation } = protocols[protocol]
    for (const [index, name] of clients.entries()) {
      const present = await presentClient(filling, protocol, cluster, name)
      const body = present === undefined ? { [nameField]: name } : { extId: present }
      const created = present === undefined ? clientId(protocol, cluster, name) : undefined
      await attach(`${path}.${section}[${index}]`, operation, name, body, created)
    }
  }
}

const protocols = {
  iscsi: {
    section: 'iscsiClients',
    kind: IscsiClient,
    nameField: 'iscsiInitiatorName',
    operation: 'volumes.attachIscsiClient',
  },
  nvmf: {
    section: 'nvmfClients',
    kind: NvmfClient,
    nameField: 'nvmfInitiatorName',
    operation: 'volumes.attachNvmfClient',
  },
} as const

async function presentClient(
  { ctx }: Filling,
  protocol: keyof typeof protocols,
  cluster: ClusterEntity,
  name: string,
): Promise<string | undefined> {
  const { kind, nameField } = protocols[protocol]
  const described = await ctx.store.get<AnyResource>(kind, clientId(protocol, cluster, name))
  if (described !== undefined) return described.extId
  const [named] = await ctx.store.findWhere<AnyResource>(kind, { clusterReference: cluster.extId, [nameField]: name })
  return named?.extId
}
