/**
 * Storage of a cluster in bytes, computed from rows at each call.
 * The model: each working drive of a host that is up gives the pool 95 % of its size. Guests fill their disks towards
 * 65 % of the size with a time constant of 20 days; images and OVAs take their whole size, disks of templates what the
 * guest had written at the capture. A written byte takes one byte per copy, less the savings of `data-reduction.ts`. A
 * reservation takes the bytes of all its copies, written or not.
 * Source: behaviour clustermgmt.md 1.8, 1.9, 3 (Capacity).
 */

import type { EntityOf } from '@hyperplane/contract'
import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Ova } from '@hyperplane/contract/vmm/content/ova'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { VolumeDisk } from '@hyperplane/contract/volumes/volume-disk'
import { seedId } from '../../core/ids/named-id.ts'
import { pathOf } from '../../core/standard.ts'
import type { Clock } from '../../core/time/clock.ts'
import { parseTime } from '../../core/time/clock.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Drive } from '../../drivers/drives.ts'
import { equals } from '../../odata/index.ts'
import type { Reader } from '../../store/store.ts'
import { type Data, physicalBytes } from './data-reduction.ts'

const usablePercent = 95
const fullPercent = 65
const fillingDays = 20
const millisPerDay = 24 * 60 * 60 * 1000

export const imageContainerName = 'SelfServiceContainer'

export interface CapacityContext {
  readonly store: Reader
  readonly clock: Pick<Clock, 'now'>
  readonly drivers: Pick<Drivers, 'blockStorage' | 'externalHypervisor' | 'hardware' | 'hypervisor'>
}

type Counting = Pick<CapacityContext, 'store'> & { readonly drivers: Pick<Drivers, 'hardware'> }

type Container = EntityOf<typeof StorageContainer>

export interface ContainerUsage {
  /** Written by users; bytes that several disks share count for each of them. */
  readonly logicalBytes: number
  readonly physicalBytes: number
  readonly reservedBytes: number
}

export interface PoolUsage {
  readonly clusterExtId: string
  /** Physical, as `freeBytes`. */
  readonly capacityBytes: number
  readonly freeBytes: number
  readonly containers: ReadonlyMap<string, ContainerUsage>
}

export const storagePoolOf = (clusterExtId: string): string => seedId(`storage-pool/${clusterExtId}`)

export const copiesOf = (container: { replicationFactor?: number }): number => container.replicationFactor ?? 2

/** Bytes of the drive that the pool uses. */
export const usableBytes = (sizeBytes: number): number => Math.floor((sizeBytes * usablePercent) / 100)

/** Physical bytes of drives that work and stay, unless the host is down. */
export function hostCapacity(
  { extId }: { readonly extId: string },
  hardware: Pick<Drivers['hardware'], 'drivesOf' | 'isHostUp'>,
): number {
  if (!hardware.isHostUp(extId)) return 0
  const counted = hardware.drivesOf(extId).filter((drive) => isWorking(drive) && !drive.isLeaving)
  return counted.reduce((sum, { sizeBytes }) => sum + usableBytes(sizeBytes), 0)
}

export const isWorking = ({ isInPool, fault }: Drive): boolean => isInPool && fault === undefined

export async function hostsOf(store: Reader, clusterExtId: string): Promise<EntityOf<typeof Host>[]> {
  return store.findWhere(Host, { 'cluster/uuid': clusterExtId })
}

export async function poolCapacity({ store, drivers }: Counting, clusterExtId: string): Promise<number> {
  return (await hostsOf(store, clusterExtId)).reduce((sum, host) => sum + hostCapacity(host, drivers.hardware), 0)
}

export async function reservedBytes(store: Reader, clusterExtId: string): Promise<number> {
  const containers = await store.findWhere(StorageContainer, { clusterExtId })
  return containers.reduce((sum, one) => sum + (one.logicalExplicitReservedCapacityBytes ?? 0) * copiesOf(one), 0)
}

/** Reads every disk of the cluster: too slow for lists. */
export async function poolUsage(ctx: CapacityContext, clusterExtId: string): Promise<PoolUsage> {
  const { store } = ctx
  const containers = await store.findWhere(StorageContainer, { clusterExtId })
  const hosts = await hostsOf(store, clusterExtId)
  const written = await writtenBytes(ctx, clusterExtId, containers, hosts.length)
  const usage = new Map<string, ContainerUsage>()
  let taken = 0
  for (const container of containers) {
    const { logicalBytes, physicalBytes } = written.get(container.extId) ?? { logicalBytes: 0, physicalBytes: 0 }
    const one: ContainerUsage = {
      logicalBytes,
      physicalBytes,
      reservedBytes: (container.logicalExplicitReservedCapacityBytes ?? 0) * copiesOf(container),
    }
    usage.set(container.extId, one)
    taken += Math.max(one.physicalBytes, one.reservedBytes)
  }
  const capacityBytes = hosts.reduce((sum, host) => sum + hostCapacity(host, ctx.drivers.hardware), 0)
  return { clusterExtId, capacityBytes, freeBytes: Math.max(0, capacityBytes - taken), containers: usage }
}

/** Logical bytes that can still be written to the container. */
export function containerFree(pool: PoolUsage, container: Container): number {
  const { physicalBytes, reservedBytes } = pool.containers.get(container.extId) ?? {
    physicalBytes: 0,
    reservedBytes: 0,
  }
  const copies = copiesOf(container)
  const ownReserve = Math.max(0, reservedBytes - physicalBytes)
  const advertised = container.logicalAdvertisedCapacityBytes
  const untilAdvertised = advertised === undefined ? Number.POSITIVE_INFINITY : advertised * copies - physicalBytes
  return Math.max(0, Math.floor(Math.min(pool.freeBytes + ownReserve, untilAdvertised) / copies))
}

/** The default container stores the backups of domain managers. */
export async function backupContainerOf(store: Reader, clusterExtId: string): Promise<Container | undefined> {
  return backupContainerAmong(await store.findWhere(StorageContainer, { clusterExtId }))
}

function backupContainerAmong(containers: readonly Container[]): Container | undefined {
  const usable = containers.filter((one) => one.isInternal !== true && one.isMarkedForRemoval !== true)
  return usable.find(({ name }) => name.startsWith('default-container')) ?? usable[0]
}

/** Free space does not limit a thin disk. */
export function largestDisk(capacityBytes: number, container: Container): number {
  const whole = Math.floor(capacityBytes / copiesOf(container))
  return Math.min(whole, container.logicalAdvertisedCapacityBytes ?? whole)
}

/** The largest thin disk that can be created now; 0 while the container is full. */
export async function roomForDisk(
  ctx: Counting & { readonly drivers: Pick<Drivers, 'hypervisor'> },
  container: Container,
): Promise<number> {
  if (container.clusterExtId === undefined || ctx.drivers.hypervisor.fullContainers().includes(container.extId))
    return 0
  return largestDisk(await poolCapacity(ctx, container.clusterExtId), container)
}

export async function hasRoom(ctx: CapacityContext, containerExtId: string, bytes: number): Promise<boolean> {
  const container = await ctx.store.get(StorageContainer, containerExtId)
  if (container?.clusterExtId === undefined) return false
  return bytes <= containerFree(await poolUsage(ctx, container.clusterExtId), container)
}

/** Logical bytes that remain when the largest hosts fail, as many as the redundancy factor allows. */
export function faultTolerantCapacity(
  cluster: EntityOf<typeof Cluster>,
  hosts: readonly EntityOf<typeof Host>[],
  hardware: Drivers['hardware'],
): number {
  const factor = cluster.config?.redundancyFactor ?? 2
  const remaining = hosts.map((host) => hostCapacity(host, hardware)).sort((a, b) => a - b)
  const kept = hosts.length > factor - 1 ? remaining.slice(0, remaining.length - (factor - 1)) : remaining
  return Math.floor(kept.reduce((sum, bytes) => sum + bytes, 0) / factor)
}

type Written = Pick<ContainerUsage, 'logicalBytes' | 'physicalBytes'>

async function writtenBytes(
  ctx: CapacityContext,
  clusterExtId: string,
  containers: readonly Container[],
  hosts: number,
): Promise<ReadonlyMap<string, Written>> {
  const { store } = ctx
  const now = ctx.clock.now()
  const byId = new Map(containers.map((container) => [container.extId, container]))
  const written = new Map<string, Written>()
  /** @param unique bytes that no other disk stores; default: all */
  const add = (containerExtId: string | undefined, bytes: number, data: Omit<Data, 'uniqueBytes'>, unique = bytes) => {
    const container = byId.get(containerExtId ?? '')
    if (container === undefined) return
    const sum = written.get(container.extId) ?? { logicalBytes: 0, physicalBytes: 0 }
    written.set(container.extId, {
      logicalBytes: sum.logicalBytes + bytes,
      physicalBytes: sum.physicalBytes + physicalBytes(container, { hosts, now }, { ...data, uniqueBytes: unique }),
    })
  }
  const layers = new Map([...ctx.drivers.hypervisor.layers(now), ...ctx.drivers.externalHypervisor.layers(now)])
  for (const vm of await store.find(Vm, { filter: equals(pathOf(Vm, 'cluster/extId'), clusterExtId) })) {
    for (const disk of vm.disks ?? []) {
      const backing = disk.backingInfo as { storageContainer?: { extId?: string } } | undefined
      const data = { extId: disk.extId ?? vm.extId, ageMillis: ageOf(fillOf(vm, disk)?.since ?? vm.createTime, now) }
      const layer = layers.get(data.extId)
      layers.delete(data.extId)
      add(backing?.storageContainer?.extId, layer?.ownBytes ?? writtenTo(vm, disk, now), data)
    }
  }
  for (const vm of await store.find(ExternVm, { filter: equals(pathOf(ExternVm, 'cluster/extId'), clusterExtId) })) {
    for (const disk of vm.disks ?? []) {
      const extId = disk.extId ?? vm.extId
      const bytes = layers.get(extId)?.ownBytes ?? filled(disk.backingInfo?.diskSizeBytes ?? 0)
      layers.delete(extId)
      add(disk.backingInfo?.storageContainer?.extId, bytes, { extId })
    }
  }
  // The layers of recovery points, and those that clones share.
  for (const [extId, { containerExtId, ownBytes }] of layers) add(containerExtId, ownBytes, { extId })
  for (const container of containers) {
    const filter = equals(pathOf(VolumeDisk, 'storageContainerId'), container.extId)
    const disks = await store.find(VolumeDisk, { filter })
    const usage = await ctx.drivers.blockStorage.usageOf(disks.map(({ extId }) => extId))
    for (const [extId, { writtenBytes, uniqueBytes }] of usage)
      add(container.extId, writtenBytes, { extId }, uniqueBytes)
  }
  // Foreign files are not compressed.
  for (const { extId } of containers)
    add(extId, ctx.drivers.hardware.foreignBytes(extId), { extId, isIncompressible: true })
  const backups = await store.get(BackupTarget, clusterExtId)
  if (backups !== undefined) {
    const bytes = backups.lastSizeBytes ?? 0
    add(backupContainerAmong(containers)?.extId, bytes, { extId: backups.extId, isIncompressible: true })
  }
  const imageContainer = containers.find(({ name }) => name === imageContainerName)
  if (imageContainer !== undefined) {
    for (const kind of [Image, Ova]) {
      const filter = equals(pathOf(kind, 'clusterLocationExtIds'), clusterExtId)
      for (const { extId, sizeBytes = 0 } of await store.find<typeof Image | typeof Ova>(kind, { filter }))
        add(imageContainer.extId, sizeBytes, { extId, isIncompressible: true })
    }
  }
  return written
}

const ageOf = (time: string | undefined, now: number): number | undefined => {
  const since = time === undefined ? undefined : parseTime(time)
  return since === undefined ? undefined : Math.max(0, now - since)
}

/** Bytes that the guest has written; without an age, the final level. */
export function filled(sizeBytes: number, ageMillis = Number.POSITIVE_INFINITY): number {
  const share = (1 - Math.exp(-ageMillis / (fillingDays * millisPerDay))) * 10_000
  return Math.floor((Math.floor((sizeBytes * fullPercent) / 100) / 10_000) * Math.round(share))
}

type VmEntity = EntityOf<typeof Vm>
type DiskEntity = NonNullable<VmEntity['disks']>[number]

const fillOf = ({ diskFills = [] }: VmEntity, { extId }: DiskEntity) =>
  diskFills.find(({ diskExtId }) => diskExtId === extId)

/** Bytes that the guest has written to its disk. @param at milliseconds since 1970 */
export function writtenTo(vm: VmEntity, disk: DiskEntity, at: number): number {
  const sizeBytes = (disk.backingInfo as { diskSizeBytes?: number } | undefined)?.diskSizeBytes ?? 0
  const { since, writtenBytes } = fillOf(vm, disk) ?? { since: vm.createTime, writtenBytes: 0 }
  const start = since === undefined ? undefined : parseTime(since)
  const written = filled(sizeBytes, start === undefined ? undefined : Math.max(0, at - start))
  const full = filled(sizeBytes)
  return full === 0 ? 0 : Math.max(writtenBytes, writtenBytes + Math.floor(written * (1 - writtenBytes / full)))
}
