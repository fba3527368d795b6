/** Volume groups as if created through the API. Source: behaviour volumes-storage.md 4. */

import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { VolumeGroupAttachment } from '@hyperplane/contract/volumes/attachment'
import { IscsiClient } from '@hyperplane/contract/volumes/iscsi-client'
import { NvmfClient } from '@hyperplane/contract/volumes/nvmf-client'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { seedId } from '../../core/ids/named-id.ts'
import type { Attachment, ClientEntity, Group } from '../../domains/block-volumes/attachments.ts'
import { emptyIn } from '../../domains/block-volumes/disks.ts'
import { targetNameOf } from '../../domains/volumes/group-rules.ts'
import { secretDigest } from '../../drivers/hardware.ts'
import { blockDiskFacts, type TargetFact, targetFacts } from '../../drivers/simulated/block-facts.ts'
import type { SeedContext } from '../context.ts'
import { seedPoints } from './volume-points.ts'

const GiB = 1024 ** 3
const clusterReference = seedId('cluster/hp-native-01')
/** The first index after the disk with the operating system. */
const scsiIndex = 1
const numVirtualTargets = 32

interface Described {
  readonly name: string
  readonly id?: string
  readonly more?: Partial<Group>
  readonly container?: string
  readonly disksGiB?: readonly number[]
  readonly fullPercent?: number
  readonly vms?: readonly string[]
  readonly iscsiClients?: readonly string[]
  readonly nvmfClients?: readonly string[]
}

const inventory: readonly Described[] = [
  {
    name: 'vg-orders-db',
    more: {
      description: 'Orders database, two nodes outside the cluster',
      sharingStatus: 'SHARED',
      enabledAuthentications: 'CHAP',
      iscsiFeatures: { enabledAuthentications: 'CHAP', targetSecret: 'orders-db-chap' },
      storageFeatures: { flashMode: { isEnabled: true } },
    },
    container: 'db-gold',
    disksGiB: [500, 100],
    fullPercent: 45,
    iscsiClients: ['db-a', 'db-b'],
  },
  {
    name: 'vg-app-shared',
    more: {
      description: 'Shared by the front ends',
      sharingStatus: 'SHARED',
      shouldLoadBalanceVmAttachments: true,
    },
    disksGiB: [50, 50, 50, 50],
    fullPercent: 30,
    vms: ['web-01', 'web-02'],
  },
  {
    name: 'vg-backup',
    more: { description: 'Nightly backups', sharingStatus: 'NOT_SHARED', usageType: 'BACKUP_TARGET' },
    container: 'archive-ec',
    disksGiB: [2048],
    fullPercent: 60,
    iscsiClients: ['backup'],
  },
  { name: 'vg-nvme-bench', disksGiB: [200], fullPercent: 10, nvmfClients: ['bench'] },
  ...[5, 5, 8, 10, 10, 20].map((size, index) => claim(index, size)),
  { name: 'vg-unused', more: { description: 'Nothing in it, nobody at it' } },
]

function claim(index: number, size: number): Described {
  const id = `pvc-${index}`
  return {
    name: `pvc-${seedId(`claim/${index}`)}`,
    id,
    more: { createdBy: 'csi', categoryIds: [seedId('category/KubernetesCluster/dev')] },
    disksGiB: [size],
  }
}

const clients: Readonly<Record<string, Partial<ClientEntity>>> = {
  'db-a': { iscsiInitiatorName: 'iqn.2026-01.io.example:db-a' },
  'db-b': { iscsiInitiatorName: 'iqn.2026-01.io.example:db-b' },
  backup: { iscsiInitiatorName: 'iqn.2026-01.io.example:backup' },
  retired: { iscsiInitiatorName: 'iqn.2026-01.io.example:retired' },
}

export async function seedDemo(ctx: SeedContext): Promise<void> {
  for (const [name, identity] of Object.entries(clients)) await seedClient(ctx, name, identity)
  await ctx.store.insert(NvmfClient, {
    extId: seedId('nvmf-client/bench'),
    tenantId: ctx.tenantId,
    nvmfInitiatorName: 'nqn.2026-01.io.example:bench',
    clusterReference,
  })
  for (const described of inventory) await seedDemoGroup(ctx, described)
  await seedPoints(ctx)
}

const seedClient = (ctx: SeedContext, name: string, identity: Partial<ClientEntity>): Promise<ClientEntity> =>
  seedIscsiClient(ctx, {
    extId: seedId(`iscsi-client/${name}`),
    ...identity,
    clusterReference,
    ...(name === 'retired' ? { unusedSince: ctx.ago(3 * 24 * 3600) } : {}),
  })

export const seedIscsiClient = (
  ctx: SeedContext,
  client: Partial<ClientEntity> & Pick<ClientEntity, 'extId' | 'clusterReference'>,
): Promise<ClientEntity> =>
  ctx.store.insert(IscsiClient, {
    tenantId: ctx.tenantId,
    numVirtualTargets,
    ...client,
  } as ClientEntity)

async function seedDemoGroup(ctx: SeedContext, described: Described): Promise<void> {
  const { name, id = name, more = {}, container = 'default' } = described
  await seedVolumeGroup(ctx, {
    name,
    key: id,
    clusterExtId: clusterReference,
    containerExtId: seedId(`container/hp-native-01/${container}`),
    more,
    diskBytes: (described.disksGiB ?? []).map((size) => size * GiB),
    fullPercent: described.fullPercent ?? 0,
    vms: (described.vms ?? []).map((vm) => ({ key: vm, extId: seedId(`vm/${vm}`), scsiIndex })),
    iscsiClients: (described.iscsiClients ?? []).map((key) => ({ key, extId: seedId(`iscsi-client/${key}`) })),
    nvmfClients: (described.nvmfClients ?? []).map((key) => ({ key, extId: seedId(`nvmf-client/${key}`) })),
  })
}

interface Consumer {
  readonly key: string
  readonly extId: string
}

export interface SeedVolumeGroup {
  readonly name: string
  /** Key from which the ids of its disks and attachments and, by default, its own are derived. */
  readonly key: string
  readonly extId?: string
  readonly clusterExtId: string
  readonly containerExtId: string
  readonly more: Partial<Group>
  readonly diskBytes: readonly number[]
  readonly fullPercent: number
  readonly vms: readonly (Consumer & { readonly scsiIndex: number })[]
  readonly iscsiClients: readonly Consumer[]
  readonly nvmfClients: readonly Consumer[]
}

async function seedVolumeGroup(ctx: SeedContext, described: SeedVolumeGroup): Promise<void> {
  const { name, key, extId = seedId(`volume-group/${key}`), clusterExtId, more } = described
  const group: Group = {
    extId,
    tenantId: ctx.tenantId,
    name,
    clusterReference: clusterExtId,
    createdBy: 'admin',
    ownerReferenceId: ctx.adminId,
    usageType: 'USER',
    isHidden: false,
    shouldLoadBalanceVmAttachments: false,
    attachmentType: 'NONE',
    protocol: 'NOT_ASSIGNED',
    targetName: targetNameOf(name, extId),
    ...more,
  }
  await ctx.store.insert(VolumeGroup, group)
  await seedDisks(ctx, extId, described)

  const attach = (consumer: string, row: Partial<Attachment>): Promise<Attachment> =>
    ctx.store.insert(VolumeGroupAttachment, {
      extId: seedId(`volume-group-attachment/${key}/${consumer}`),
      volumeGroupExtId: extId,
      ...row,
    })
  const accessList: Record<string, TargetFact['accessList'][string]> = {}
  const plugs: Record<string, number> = {}
  for (const client of described.iscsiClients) {
    await attach(client.key, { iscsiClientExtId: client.extId })
    accessList[client.extId] = { clientExtId: client.extId, paths: numVirtualTargets }
  }
  for (const client of described.nvmfClients) {
    await attach(client.key, { nvmfClientExtId: client.extId })
    accessList[client.extId] = { clientExtId: client.extId, paths: 1 }
  }
  for (const vm of described.vms) {
    await attach(vm.key, { vmExtId: vm.extId, scsiIndex: vm.scsiIndex })
    await ctx.store.touch(Vm, vm.extId)
    plugs[vm.extId] = vm.scsiIndex
  }
  const secret = more.iscsiFeatures?.targetSecret
  await targetFacts(ctx.world).put(extId, {
    volumeGroupExtId: extId,
    clusterExtId,
    name: group.targetName as string,
    isSpread: group.shouldLoadBalanceVmAttachments === true,
    isFlashPinned: group.storageFeatures?.flashMode?.isEnabled === true,
    isBackupTarget: group.usageType === 'BACKUP_TARGET',
    ...(secret === undefined ? {} : { chapDigest: secretDigest(`target/${extId}`, secret) }),
    accessList,
    plugs,
  })
}

async function seedDisks(
  ctx: SeedContext,
  volumeGroupExtId: string,
  { key, clusterExtId, containerExtId, diskBytes, fullPercent }: SeedVolumeGroup,
): Promise<void> {
  for (const [index, sizeBytes] of diskBytes.entries()) {
    const extId = seedId(`volume-disk/${key}/${index}`)
    await ctx.store.insert(VolumeDisk, {
      extId,
      tenantId: ctx.tenantId,
      index,
      diskSizeBytes: sizeBytes,
      storageContainerId: containerExtId,
      diskDataSourceReference: emptyIn(containerExtId),
      volumeGroupExtId,
    })
    await blockDiskFacts(ctx.world).put(extId, {
      extId,
      clusterExtId,
      containerExtId,
      volumeGroupExtId,
      index,
      sizeBytes,
      isPublished: true,
      writtenBytes: Math.floor((sizeBytes * fullPercent) / 100),
      sharedBytes: 0,
      since: ctx.clock.now(),
    })
  }
}
