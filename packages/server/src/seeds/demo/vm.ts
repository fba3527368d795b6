/** Seeds a VM as if it had been created and powered on through the API. Source: behaviour vmm.md 1.1 to 1.4. */

import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { seedId } from '../../core/ids/named-id.ts'
import { type Address, formatAddress } from '../../core/ip-address.ts'
import type { SubnetEntity } from '../../domains/addressing/address-plan.ts'
import { isManaged, leaseAddress } from '../../domains/addressing/leases.ts'
import type { CdRomEntity, DiskEntity, NicEntity, VmEntity } from '../../domains/virtual-machines/entity.ts'
import { MacLease } from '../../domains/virtual-machines/mac-lease.ts'
import { notePower } from '../../domains/virtual-machines/power-journal.ts'
import { domainOf } from '../../domains/vmm/vm/domain.ts'
import { nicOf } from '../../domains/vmm/vm/parts/nics.ts'
import type { Bus, Slot } from '../../domains/vmm/vm/parts/slots.ts'
import { diskFacts, domainFacts } from '../../drivers/simulated/hypervisor/facts.ts'
import type { SeedContext } from '../context.ts'

const GiB = 1024 ** 3
const nvramBytes = 540_672

export interface SeedDisk {
  readonly sizeBytes: number
  readonly containerExtId: string
  readonly imageExtId?: string
  readonly os?: 'linux' | 'windows'
  readonly busType?: Bus
}

export interface SeedCdRom {
  /** The ISO in the drive; absent: empty. */
  readonly image?: { readonly extId: string; readonly sizeBytes: number; readonly containerExtId: string }
  readonly busType: 'IDE' | 'SATA'
}

export interface SeedNic {
  /** Absent: a destination of traffic mirrors. */
  readonly subnet?: SubnetEntity
  readonly macAddress: string
  /** Default: the lowest free one, if the subnet has a pool. */
  readonly address?: Address
  readonly backing?: { readonly isConnected?: boolean; readonly model?: 'VIRTIO' | 'E1000' }
}

export interface SeedVm {
  readonly name: string
  /** Key from which the ids of its disks and NICs and, by default, its own are derived. Default: the name. */
  readonly key?: string
  readonly extId?: string
  readonly description?: string
  readonly clusterExtId: string
  readonly vcpus: number
  readonly memoryGiB: number
  readonly disks: readonly SeedDisk[]
  readonly cdRoms?: readonly SeedCdRom[]
  readonly nics: readonly SeedNic[]
  readonly more?: Partial<VmEntity>
  /** Container of the NVRAM of a VM with UEFI. */
  readonly uefiContainerExtId?: string
  readonly guestTools?: VmEntity['guestTools']
  readonly categoryExtIds?: readonly string[]
  readonly ownerExtId?: string
  readonly isOn: boolean
  readonly secondsSinceCreation: number
  readonly secondsSinceStart: number
}

export async function seedVm(ctx: SeedContext, described: SeedVm): Promise<VmEntity> {
  const { name, key = name, extId = seedId(`vm/${key}`), secondsSinceCreation, secondsSinceStart } = described
  const created = ctx.ago(secondsSinceCreation)
  const nics: NicEntity[] = []
  for (const [index, nic] of described.nics.entries())
    nics.push(await nicFor(ctx, nic, extId, seedId(`nic/${key}/${index}`)))
  const slots = slotsFor(described)
  const disks = described.disks.map((disk, index) =>
    diskOf(disk, slots.disks[index] as Slot, seedId(`disk/${key}/${index}`)),
  )
  const cdRoms = slots.cdRoms.map((slot, index) =>
    cdRomOf(described.cdRoms?.[index] as SeedCdRom, slot, `${key}/${index}`),
  )
  const off: VmEntity = {
    ...seedDefaults,
    ...described.more,
    extId,
    tenantId: ctx.tenantId,
    name,
    ...(described.description === undefined ? {} : { description: described.description }),
    createTime: created,
    updateTime: created,
    powerState: 'OFF',
    cluster: { extId: described.clusterExtId },
    memorySizeBytes: described.memoryGiB * GiB,
    numSockets: described.vcpus,
    bootConfig: bootOf(described, key),
    biosUuid: extId,
    generationUuid: seedId(`vm/${key}/generation`),
    ...(described.ownerExtId === undefined ? {} : { ownershipInfo: { owner: { extId: described.ownerExtId } } }),
    ...listed(
      'categories',
      (described.categoryExtIds ?? []).map((category) => ({ extId: category })),
    ),
    ...listed('disks', disks),
    ...listed('cdRoms', cdRoms),
    ...listed('nics', nics),
    ...(described.guestTools === undefined ? {} : { guestTools: described.guestTools }),
  }
  const vm = described.isOn ? switchedOn(off, await ctx.places.place(off)) : off
  await ctx.store.insert(Vm, vm)
  await seedFiles(ctx, described, key, disks, cdRoms)
  const domain = await domainOf(ctx.store, vm)
  if (vm.host === undefined) {
    await domainFacts(ctx.world).put(extId, { domain, state: 'OFF' })
    return vm
  }
  await notePower(ctx.store, { uuid: () => seedId(`power/${key}`) }, vm, 'ON', ctx.ago(secondsSinceStart))
  const startedAt = ctx.clock.now() - secondsSinceStart * 1000
  await domainFacts(ctx.world).put(extId, { domain, state: 'ON', hostExtId: vm.host.extId as string, startedAt })
  return vm
}

const switchedOn = (vm: VmEntity, hostExtId: string): VmEntity => ({
  ...vm,
  powerState: 'ON',
  host: { extId: hostExtId },
  lastHostExtId: hostExtId,
  isLiveMigrateCapable: true,
})

const listed = (name: string, items: readonly unknown[]): object => (items.length === 0 ? {} : { [name]: items })

async function nicFor(
  ctx: SeedContext,
  { subnet, macAddress, address, backing }: SeedNic,
  vmExtId: string,
  extId: string,
): Promise<NicEntity> {
  const wired = { isConnected: true, macAddress, model: 'VIRTIO', numQueues: 1, ...backing } as const
  if (subnet === undefined) {
    await ctx.store.insert(MacLease, { extId, macAddress, nicExtId: extId, vmExtId })
    return nicOf(extId, wired, { nicType: 'SPAN_DESTINATION_NIC', vlanMode: 'ACCESS', shouldAllowUnknownMacs: false })
  }
  const subnetExtId = subnet.extId
  await ctx.store.insert(MacLease, { extId, macAddress, nicExtId: extId, vmExtId, subnetExtId })
  const lease = {
    kind: 'ASSIGNED',
    holder: extId,
    family: 'IPV4',
    ...(address === undefined ? {} : { address }),
  } as const
  const isGiven =
    address !== undefined || (isManaged(subnet) && (subnet.ipConfig?.[0]?.ipv4?.poolList ?? []).length > 0)
  const value = isGiven ? formatAddress(await leaseAddress(ctx, subnet, lease)) : undefined
  return nicOf(extId, wired, {
    nicType: 'NORMAL_NIC',
    subnet: { extId: subnetExtId },
    vlanMode: 'ACCESS',
    shouldAllowUnknownMacs: false,
    ...(value === undefined ? {} : { ipv4Config: { shouldAssignIp: true, ipAddress: { value, prefixLength: 32 } } }),
  })
}

function slotsFor({ disks, cdRoms = [] }: SeedVm): {
  readonly disks: readonly Slot[]
  readonly cdRoms: readonly Slot[]
} {
  const next = new Map<Bus, number>()
  const slotOn = (busType: Bus): Slot => {
    const index = next.get(busType) ?? 0
    next.set(busType, index + 1)
    return { busType, index }
  }
  return {
    disks: disks.map(({ busType = 'SCSI' }) => slotOn(busType)),
    cdRoms: cdRoms.map(({ busType }) => slotOn(busType)),
  }
}

function cdRomOf({ image }: SeedCdRom, diskAddress: Slot, key: string): CdRomEntity {
  const diskExtId = seedId(`cd-rom-disk/${key}`)
  const backing =
    image === undefined
      ? {}
      : {
          backingInfo: {
            diskExtId,
            diskSizeBytes: image.sizeBytes,
            storageContainer: { extId: image.containerExtId },
            dataSource: {
              reference: { $objectType: 'vmm.v4.ahv.config.ImageReference', imageExtId: image.extId },
            },
          },
        }
  return { extId: seedId(`cd-rom/${key}`), ...backing, diskAddress, isoType: 'OTHER' } as CdRomEntity
}

function diskOf({ sizeBytes, containerExtId, imageExtId }: SeedDisk, diskAddress: Slot, extId: string): DiskEntity {
  const reference = { $objectType: 'vmm.v4.ahv.config.ImageReference', imageExtId }
  return {
    extId,
    backingInfo: {
      $objectType: 'vmm.v4.ahv.config.VmDisk',
      diskExtId: extId,
      diskSizeBytes: sizeBytes,
      storageContainer: { extId: containerExtId },
      ...(imageExtId === undefined ? {} : { dataSource: { reference } }),
    },
    diskAddress,
  } as DiskEntity
}

async function seedFiles(
  ctx: SeedContext,
  { disks, uefiContainerExtId, secondsSinceCreation }: SeedVm,
  key: string,
  entities: readonly DiskEntity[],
  drives: readonly CdRomEntity[],
): Promise<void> {
  const facts = diskFacts(ctx.world)
  const createdAt = ctx.clock.now() - secondsSinceCreation * 1000
  for (const [index, { containerExtId, sizeBytes, os }] of disks.entries()) {
    const fact = { containerExtId, sizeBytes, createdAt, ...(os === undefined ? {} : { os }) }
    await facts.put(entities[index]?.extId as string, fact)
  }
  for (const { backingInfo } of drives) {
    if (backingInfo === undefined) continue
    const { diskExtId, storageContainer, diskSizeBytes = 0 } = backingInfo
    const containerExtId = storageContainer?.extId as string
    await facts.put(diskExtId as string, { containerExtId, sizeBytes: diskSizeBytes, createdAt })
  }
  if (uefiContainerExtId !== undefined)
    await facts.put(nvramOf(key), { containerExtId: uefiContainerExtId, sizeBytes: 0, createdAt })
}

const nvramOf = (key: string): string => seedId(`nvram/${key}`)
const bootOrder = ['CDROM', 'DISK', 'NETWORK']

function bootOf({ uefiContainerExtId }: SeedVm, key: string): VmEntity['bootConfig'] {
  if (uefiContainerExtId === undefined)
    return { $objectType: 'vmm.v4.ahv.config.LegacyBoot', bootOrder } as VmEntity['bootConfig']
  const backingStorageInfo = {
    diskExtId: nvramOf(key),
    diskSizeBytes: nvramBytes,
    storageContainer: { extId: uefiContainerExtId },
  }
  return {
    $objectType: 'vmm.v4.ahv.config.UefiBoot',
    bootOrder,
    isSecureBootEnabled: false,
    nvramDevice: { backingStorageInfo },
  } as VmEntity['bootConfig']
}

export const workingTools = (os: 'linux' | 'windows'): NonNullable<VmEntity['guestTools']> => ({
  isEnabled: true,
  isInstalled: true,
  isIsoInserted: false,
  isVssSnapshotCapable: true,
  version: '4.1',
  availableVersion: '4.1',
  capabilities: ['VSS_SNAPSHOT'],
  guestOsVersion: os === 'windows' ? 'windows:64:Windows Server 2022' : 'linux:64:Ubuntu 24.04',
})

export const osOf = (imageName: string): 'linux' | 'windows' => (/windows|\bwin/i.test(imageName) ? 'windows' : 'linux')

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
