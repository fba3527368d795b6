/**
 * Volume groups of the demo, as if they had been made through the interface: with disks, attachments, clients, targets.
 * Source: behaviour volumes-storage.md 4 (without recovery points, which nothing makes yet).
 */
import { Vm } from '@hyperplane/contract/vmm/vm'
import { VolumeGroupAttachment } from '@hyperplane/contract/volumes/attachment'
import { IscsiClient } from '@hyperplane/contract/volumes/iscsi-client'
import { NvmfClient } from '@hyperplane/contract/volumes/nvmf-client'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { VolumeGroup } from '@hyperplane/contract/volumes/volume-group'
import { secretDigest } from '../../drivers/hardware.ts'
import { blockDiskFacts, type TargetFact, targetFacts } from '../../drivers/simulated/block-storage.ts'
import { type SeedContext, seedId } from '../seed.ts'
import type { Attachment, ClientEntity, Group } from '../volume-attachments.ts'
import { targetNameOf } from './group-rules.ts'

const GiB = 1024 ** 3
const clusterReference = seedId('cluster/hp-native-01')
/** Behind the disk that holds the system. */
const scsiIndex = 1
const numVirtualTargets = 32

interface Described {
  readonly name: string
  readonly id?: string
  readonly more?: Partial<Group>
  readonly container?: string
  readonly disksGiB?: readonly number[]
  /** How full its disks are, of a hundred. */
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

/** A volume that a Kubernetes cluster asked for. */
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
  backup: { iscsiInitiatorNetworkId: { ipv4: { value: '10.44.9.20', prefixLength: 32 } } },
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
  for (const described of inventory) await seedGroup(ctx, described)
}

const seedClient = (ctx: SeedContext, name: string, identity: Partial<ClientEntity>): Promise<ClientEntity> =>
  ctx.store.insert(IscsiClient, {
    extId: seedId(`iscsi-client/${name}`),
    tenantId: ctx.tenantId,
    ...identity,
    enabledAuthentications: 'NONE',
    numVirtualTargets,
    clusterReference,
    ...(name === 'retired' ? { unusedSince: ctx.ago(3 * 24 * 3600) } : {}),
  } as ClientEntity)

async function seedGroup(ctx: SeedContext, described: Described): Promise<void> {
  const { name, id = name, more = {}, iscsiClients = [], nvmfClients = [], vms = [] } = described
  const extId = seedId(`volume-group/${id}`)
  const group: Group = {
    extId,
    tenantId: ctx.tenantId,
    name,
    clusterReference,
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
      extId: seedId(`volume-group-attachment/${id}/${consumer}`),
      volumeGroupExtId: extId,
      ...row,
    })
  const accessList: Record<string, TargetFact['accessList'][string]> = {}
  const plugs: Record<string, number> = {}
  for (const client of iscsiClients) {
    const clientExtId = seedId(`iscsi-client/${client}`)
    await attach(client, { iscsiClientExtId: clientExtId })
    accessList[clientExtId] = { clientExtId, paths: numVirtualTargets }
  }
  for (const client of nvmfClients) {
    const clientExtId = seedId(`nvmf-client/${client}`)
    await attach(client, { nvmfClientExtId: clientExtId })
    accessList[clientExtId] = { clientExtId, paths: 1 }
  }
  for (const vm of vms) {
    const vmExtId = seedId(`vm/${vm}`)
    await attach(vm, { vmExtId, scsiIndex })
    await ctx.store.touch(Vm, vmExtId)
    plugs[vmExtId] = scsiIndex
  }
  const secret = more.iscsiFeatures?.targetSecret
  await targetFacts(ctx.world).put(extId, {
    volumeGroupExtId: extId,
    clusterExtId: clusterReference,
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
  { name, id = name, container = 'default', disksGiB = [], fullPercent = 0 }: Described,
): Promise<void> {
  const containerExtId = seedId(`container/hp-native-01/${container}`)
  for (const [index, size] of disksGiB.entries()) {
    const extId = seedId(`volume-disk/${id}/${index}`)
    const sizeBytes = size * GiB
    await ctx.store.insert(VolumeDisk, {
      extId,
      tenantId: ctx.tenantId,
      index,
      diskSizeBytes: sizeBytes,
      storageContainerId: containerExtId,
      diskDataSourceReference: { extId: containerExtId, entityType: 'STORAGE_CONTAINER' },
      volumeGroupExtId,
    })
    await blockDiskFacts(ctx.world).put(extId, {
      extId,
      clusterExtId: clusterReference,
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
