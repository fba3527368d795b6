/**
 * The virtual machines of the demo, as if they had been made through the interface: with leases, places, disks and domains.
 * Source: behaviour vmm.md 4; platform.md 13 (the manager's own node).
 */
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { Vm } from '@hyperplane/contract/vmm/vm'
import { parseTime } from '../../../core/clock.ts'
import { type DiskFact, diskFacts, domainFacts } from '../../../drivers/simulated/hypervisor.ts'
import { leaseAddress } from '../../addresses.ts'
import { formatAddress } from '../../ip-address.ts'
import { type SeedContext, seedId } from '../../seed.ts'
import { notePower } from '../power-journal.ts'
import { HostAllocation, MacLease } from '../records.ts'
import { place } from '../scheduler.ts'
import { domainOf } from './domain.ts'
import type { DiskEntity, NicEntity, VmEntity } from './entity.ts'
import { nicOf } from './nics.ts'

const GiB = 1024 ** 3
const day = 24 * 3600
const daysOn = 9

interface Described {
  readonly name: string
  readonly vcpus: number
  readonly memoryGiB: number
  /** The first holds the system. */
  readonly disksGiB: readonly number[]
  readonly container?: string
  readonly image: string
  readonly subnet: string
  readonly categories: readonly string[]
  readonly isUefi?: true
  readonly hasTools?: true
  readonly isOff?: true
  readonly description: string
}

const inventory: readonly Described[] = [
  {
    name: 'web-01',
    description: 'Front end, first of two',
    vcpus: 2,
    memoryGiB: 4,
    disksGiB: [40],
    image: 'ubuntu-24.04.qcow2',
    subnet: 'web',
    categories: ['Environment/Production', 'AppTier/Web'],
  },
  {
    name: 'web-02',
    description: 'Front end, second of two',
    vcpus: 2,
    memoryGiB: 4,
    disksGiB: [40],
    image: 'ubuntu-24.04.qcow2',
    subnet: 'web',
    categories: ['Environment/Production', 'AppTier/Web'],
  },
  {
    name: 'db-01',
    description: 'Orders database',
    vcpus: 8,
    memoryGiB: 32,
    disksGiB: [200, 200],
    container: 'db-gold',
    image: 'centos-9.qcow2',
    subnet: 'db',
    categories: ['Environment/Production', 'AppTier/Database', 'Backup/Gold'],
  },
  {
    name: 'batch-01',
    description: 'Nightly reports',
    vcpus: 4,
    memoryGiB: 8,
    disksGiB: [80],
    image: 'centos-9.qcow2',
    subnet: 'vlan-100-app',
    categories: ['Environment/Test'],
  },
  {
    name: 'desktop-01',
    description: 'Windows desktop',
    vcpus: 4,
    memoryGiB: 16,
    disksGiB: [100],
    image: 'windows-2022.qcow2',
    subnet: 'vlan-100-app',
    categories: ['Environment/Dev', 'OSType/Windows'],
    isUefi: true,
    hasTools: true,
  },
  {
    name: 'template-source',
    description: 'Prepared to be cloned',
    vcpus: 2,
    memoryGiB: 4,
    disksGiB: [40],
    image: 'ubuntu-24.04.qcow2',
    subnet: 'vlan-100-app',
    categories: ['Environment/Dev'],
    hasTools: true,
    isOff: true,
  },
  {
    name: 'floating-01',
    description: 'Behind the network address translation of ext-nat',
    vcpus: 1,
    memoryGiB: 2,
    disksGiB: [20],
    image: 'ubuntu-24.04.qcow2',
    subnet: 'web',
    categories: ['Environment/Dev'],
  },
]

/** Resources of a manager's node: vCPUs, GiB. */
const managerSizes = { xsmall: [4, 18], small: [10, 35], large: [18, 70], xlarge: [24, 134] } as const

const clusterExtId = seedId('cluster/hp-native-01')

export async function seedDemoVms(ctx: SeedContext): Promise<void> {
  await seedManagerNode(ctx)
  for (const [index, described] of inventory.entries()) await seedVm(ctx, described, index)
}

async function seedVm(ctx: SeedContext, described: Described, index: number): Promise<void> {
  const extId = seedId(`vm/${described.name}`)
  const created = ctx.ago(daysOn * day + 3600 - index * 60)
  const disks = described.disksGiB.map((size, at) => diskOf(described, size, at))
  const nic = await nicFor(ctx, described, extId, index)
  const vm: VmEntity = {
    ...seedDefaults,
    extId,
    tenantId: ctx.tenantId,
    name: described.name,
    description: described.description,
    createTime: created,
    updateTime: created,
    powerState: 'OFF',
    cluster: { extId: clusterExtId },
    memorySizeBytes: described.memoryGiB * GiB,
    numSockets: described.vcpus,
    bootConfig: described.isUefi === true ? uefiBoot(described) : legacyBoot,
    biosUuid: extId,
    generationUuid: seedId(`vm/${described.name}/generation`),
    ownershipInfo: { owner: { extId: ctx.adminId } },
    categories: described.categories.map((name) => ({ extId: seedId(`category/${name}`) })),
    disks,
    nics: [nic],
    ...(described.hasTools === true ? { guestTools: toolsOf(described) } : {}),
  }
  await ctx.store.insert(Vm, vm)
  await seedDisks(ctx, vm, described)
  const running = described.isOff === true ? undefined : await switchedOn(ctx, vm)
  const domain = await domainOf(ctx.store, vm)
  const startedAt = ctx.clock.now() - daysOn * day * 1000
  await domainFacts(ctx.world).put(
    extId,
    running === undefined ? { domain, state: 'OFF' } : { domain, state: 'ON', hostExtId: running, startedAt },
  )
}

/** @returns the host, which the scheduler chose */
async function switchedOn(ctx: SeedContext, vm: VmEntity): Promise<string> {
  const hostExtId = await place(ctx, vm)
  const on = {
    powerState: 'ON',
    host: { extId: hostExtId },
    lastHostExtId: hostExtId,
    isLiveMigrateCapable: true,
  } as const
  const stored = await ctx.store.observe(Vm, vm.extId, on)
  await notePower(ctx.store, { uuid: () => seedId(`power/${vm.name}`) }, stored, 'ON', ctx.ago(daysOn * day))
  return hostExtId
}

function diskOf(described: Described, sizeGiB: number, index: number): DiskEntity {
  const extId = seedId(`disk/${described.name}/${index}`)
  const container = seedId(`container/hp-native-01/${described.container ?? 'default'}`)
  const reference = { $objectType: 'vmm.v4.ahv.config.ImageReference', imageExtId: seedId(`image/${described.image}`) }
  return {
    extId,
    backingInfo: {
      $objectType: 'vmm.v4.ahv.config.VmDisk',
      diskExtId: extId,
      diskSizeBytes: sizeGiB * GiB,
      storageContainer: { extId: container },
      ...(index === 0 ? { dataSource: { reference } } : {}),
    },
    diskAddress: { busType: 'SCSI', index },
  } as DiskEntity
}

async function seedDisks(ctx: SeedContext, vm: VmEntity, described: Described): Promise<void> {
  const disks = diskFacts(ctx.world)
  const createdAt = parseTime(vm.createTime as string) ?? 0
  const os = described.image.startsWith('windows') ? 'windows' : 'linux'
  const put = (extId: string, fact: Omit<DiskFact, 'createdAt'>): Promise<void> =>
    disks.put(extId, { ...fact, createdAt })
  for (const [index, disk] of (vm.disks ?? []).entries()) {
    const { diskSizeBytes, storageContainer } = disk.backingInfo as {
      diskSizeBytes: number
      storageContainer: { extId: string }
    }
    const fact = { containerExtId: storageContainer.extId, sizeBytes: diskSizeBytes }
    await put(disk.extId as string, index === 0 ? { ...fact, os } : fact)
  }
  if (described.isUefi === true)
    await put(nvramOf(described), { containerExtId: seedId('container/hp-native-01/default'), sizeBytes: 0 })
}

async function nicFor(ctx: SeedContext, described: Described, vmExtId: string, index: number): Promise<NicEntity> {
  const extId = seedId(`nic/${described.name}/0`)
  const subnetExtId = seedId(`subnet/${described.subnet}`)
  const subnet = await ctx.store.get(Subnet, subnetExtId)
  if (subnet === undefined) throw new Error(`the seed of ${described.name} finds no subnet ${described.subnet}`)
  const macAddress = `50:6b:8d:00:00:${(index + 1).toString(16).padStart(2, '0')}`
  await ctx.store.insert(MacLease, { extId, macAddress, nicExtId: extId, vmExtId, subnetExtId })
  const value = formatAddress(await leaseAddress(ctx, subnet, { kind: 'ASSIGNED', holder: extId, family: 'IPV4' }))
  return nicOf(
    extId,
    { isConnected: true, macAddress, model: 'VIRTIO', numQueues: 1 },
    {
      nicType: 'NORMAL_NIC',
      subnet: { extId: subnetExtId },
      vlanMode: 'ACCESS',
      shouldAllowUnknownMacs: false,
      ipv4Config: { shouldAssignIp: true, ipAddress: { value, prefixLength: 32 } },
    },
  )
}

/** A system VM: in no list and no count, but its host carries it. */
async function seedManagerNode(ctx: SeedContext): Promise<void> {
  const vmExtId = seedId('manager/node-1')
  const hostExtId = seedId('host/hp-n01-a')
  const [vcpus, memoryGiB] = managerSizes[ctx.tier]
  const memoryBytes = memoryGiB * GiB
  await ctx.store.insert(HostAllocation, {
    extId: `${vmExtId}/${hostExtId}`,
    vmExtId,
    hostExtId,
    clusterExtId,
    memoryBytes,
    vcpus,
    isPinned: false,
  })
}

const legacyBoot = {
  $objectType: 'vmm.v4.ahv.config.LegacyBoot',
  bootOrder: ['CDROM', 'DISK', 'NETWORK'],
} as VmEntity['bootConfig']
const nvramOf = (described: Described): string => seedId(`nvram/${described.name}`)
const uefiBoot = (described: Described): VmEntity['bootConfig'] =>
  ({
    $objectType: 'vmm.v4.ahv.config.UefiBoot',
    bootOrder: ['CDROM', 'DISK', 'NETWORK'],
    isSecureBootEnabled: false,
    nvramDevice: {
      backingStorageInfo: {
        diskExtId: nvramOf(described),
        diskSizeBytes: 540_672,
        storageContainer: { extId: seedId('container/hp-native-01/default') },
      },
    },
  }) as VmEntity['bootConfig']

const toolsOf = ({ image }: Described): NonNullable<VmEntity['guestTools']> => ({
  isEnabled: true,
  isInstalled: true,
  isIsoInserted: false,
  isVssSnapshotCapable: true,
  version: '4.1',
  availableVersion: '4.1',
  capabilities: ['VSS_SNAPSHOT'],
  guestOsVersion: image.startsWith('windows') ? 'windows:64:Windows Server 2022' : 'linux:64:Ubuntu 24.04',
})

/** What a creation sets where its body says nothing. */
export const seedDefaults = {
  numCoresPerSocket: 1,
  numThreadsPerCore: 1,
  numNumaNodes: 0,
  machineType: 'PC',
  hardwareClockTimezone: 'UTC',
  protectionType: 'UNPROTECTED',
  apcConfig: { isApcEnabled: false },
  vtpmConfig: { isVtpmEnabled: false },
  isAgentVm: false,
  isBrandingEnabled: true,
  isCpuHotplugEnabled: true,
  isCpuPassthroughEnabled: false,
  isCrossClusterMigrationInProgress: false,
  isGpuConsoleEnabled: false,
  isMemoryOvercommitEnabled: false,
  isScsiControllerEnabled: true,
  isVcpuHardPinningEnabled: false,
  isVgaConsoleEnabled: true,
} as const satisfies Partial<VmEntity>
