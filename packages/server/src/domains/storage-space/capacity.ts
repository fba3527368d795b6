/**
 * Storage of a cluster in bytes, computed from rows. Each working drive of a host that is up gives the pool 95 % of its size. Guests fill
 * disks towards 65 % of the size with a time constant of 20 days; images and OVAs take their whole size, disks of templates the bytes at
 * the capture. A written byte takes one per copy, less the savings of `data-reduction.ts`; a reservation takes all its copies, written or
 * not.
 * Source: behaviour clustermgmt.md 1.8, 1.9, 3 (Capacity).
 */

import type { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { StorageContainer } from '@hyperplane/contract/clustermgmt/storage-container'
import { seedId } from '../../core/ids/named-id.ts'
import type { Clock } from '../../core/time/clock.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Drive } from '../../drivers/drives.ts'
import type { Reader } from '../../store/store.ts'
import { backupContainerAmong, noData, sumsOfContainers } from './stored-data.ts'

const usablePercent = 95

export interface CapacityContext {
  readonly store: Reader
  readonly clock: Pick<Clock, 'now'>
  readonly drivers: Pick<Drivers, 'blockStorage' | 'externalHypervisor' | 'hardware' | 'hypervisor'>
}

type Counting = Pick<CapacityContext, 'store'> & { readonly drivers: Pick<Drivers, 'hardware'> }

export interface ContainerUsage {
  /** Written by users; bytes that several disks share count for each of them. */
  readonly logicalBytes: number
  readonly physicalBytes: number
  readonly reservedBytes: number
}

export interface PoolUsage {
  readonly clusterExtId: string
  /** Physical, as the next two. */
  readonly capacityBytes: number
  readonly freeBytes: number
  /** Written or reserved; more than the capacity after a loss. */
  readonly takenBytes: number
  readonly containers: ReadonlyMap<string, ContainerUsage>
}

export const storagePoolOf = (clusterExtId: string): string => seedId(`storage-pool/${clusterExtId}`)

export const copiesOf = (container: { replicationFactor?: number }): number => container.replicationFactor ?? 2

/** Bytes for the container, written or not. */
export const physicallyReserved = (
  container: StorageContainer,
  drivers: { readonly blockStorage: Pick<Drivers['blockStorage'], 'thickDisksIn'> },
): number =>
  Math.max(container.logicalExplicitReservedCapacityBytes ?? 0, implicitlyReserved(container.extId, drivers)) *
  copiesOf(container)

/** Sizes of its thick disks. */
export const implicitlyReserved = (
  containerExtId: string,
  { blockStorage }: { readonly blockStorage: Pick<Drivers['blockStorage'], 'thickDisksIn'> },
): number => [...blockStorage.thickDisksIn(containerExtId).values()].reduce((sum, bytes) => sum + bytes, 0)

export const usableBytes = (sizeBytes: number): number => Math.floor((sizeBytes * usablePercent) / 100)

/** Physical bytes of drives that work and stay; 0 while the host is down. */
export function hostCapacity(
  { extId }: { readonly extId: string },
  hardware: Pick<Drivers['hardware'], 'drivesOf' | 'isHostUp'>,
): number {
  if (!hardware.isHostUp(extId)) return 0
  const counted = hardware.drivesOf(extId).filter((drive) => isWorking(drive) && !drive.isLeaving)
  return counted.reduce((sum, { sizeBytes }) => sum + usableBytes(sizeBytes), 0)
}

export const isWorking = ({ isInPool, fault }: Drive): boolean => isInPool && fault === undefined

export async function hostsOf(store: Reader, clusterExtId: string): Promise<Host[]> {
  return store.findWhere(Host, { 'cluster/uuid': clusterExtId })
}

/** COMPUTE_ONLY hosts give CPUs and memory alone. */
export const storesData = ({ hostType }: { readonly hostType?: unknown }): boolean => hostType !== 'COMPUTE_ONLY'

export const isInService = (
  { extId, maintenanceState = 'normal' }: Pick<Host, 'extId' | 'maintenanceState'>,
  hardware: Pick<Drivers['hardware'], 'isHostUp'>,
): boolean => maintenanceState === 'normal' && hardware.isHostUp(extId)

/** Their drives form the pool, and they have controller VMs. */
export const storageHostsOf = async (store: Reader, clusterExtId: string): Promise<Host[]> =>
  (await hostsOf(store, clusterExtId)).filter(storesData)

export async function poolCapacity({ store, drivers }: Counting, clusterExtId: string): Promise<number> {
  return (await hostsOf(store, clusterExtId)).reduce((sum, host) => sum + hostCapacity(host, drivers.hardware), 0)
}

export async function reservedBytes(
  { store, drivers }: Pick<CapacityContext, 'store'> & { readonly drivers: Pick<Drivers, 'blockStorage'> },
  clusterExtId: string,
): Promise<number> {
  const containers = await store.findWhere(StorageContainer, { clusterExtId })
  return containers.reduce((sum, one) => sum + physicallyReserved(one, drivers), 0)
}

/** Reads every disk of the cluster: too slow for lists. */
export async function poolUsage(ctx: CapacityContext, clusterExtId: string): Promise<PoolUsage> {
  const { store } = ctx
  const containers = await store.findWhere(StorageContainer, { clusterExtId })
  const hosts = await storageHostsOf(store, clusterExtId)
  const now = ctx.clock.now()
  const written = await sumsOfContainers(ctx, clusterExtId, containers, { hosts: hosts.length, now })
  const usage = new Map<string, ContainerUsage>()
  let takenBytes = 0
  for (const container of containers) {
    const { logicalBytes, physicalBytes } = written.get(container.extId) ?? noData
    const one: ContainerUsage = {
      logicalBytes,
      physicalBytes,
      reservedBytes: physicallyReserved(container, ctx.drivers),
    }
    usage.set(container.extId, one)
    takenBytes += Math.max(one.physicalBytes, one.reservedBytes)
  }
  const capacityBytes = hosts.reduce((sum, host) => sum + hostCapacity(host, ctx.drivers.hardware), 0)
  return {
    clusterExtId,
    capacityBytes,
    freeBytes: Math.max(0, capacityBytes - takenBytes),
    takenBytes,
    containers: usage,
  }
}

/** Physical. Reads every disk of the cluster. */
export async function usedBytes(ctx: CapacityContext, clusterExtId: string): Promise<number> {
  const { containers } = await poolUsage(ctx, clusterExtId)
  return [...containers.values()].reduce((sum, { physicalBytes }) => sum + physicalBytes, 0)
}

/** Logical bytes that can still be written to the container. */
export function containerFree(pool: PoolUsage, container: StorageContainer): number {
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
export async function backupContainerOf(store: Reader, clusterExtId: string): Promise<StorageContainer | undefined> {
  return backupContainerAmong(await store.findWhere(StorageContainer, { clusterExtId }))
}

/** Free space does not limit a thin disk. */
export function largestDisk(capacityBytes: number, container: StorageContainer): number {
  const totalBytes = Math.floor(capacityBytes / copiesOf(container))
  return Math.min(totalBytes, container.logicalAdvertisedCapacityBytes ?? totalBytes)
}

/** The largest thin disk that can be created now; 0 while the container is full. */
export async function roomForDisk(
  ctx: Counting & { readonly drivers: Pick<Drivers, 'hypervisor'> },
  container: StorageContainer,
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
export function faultTolerantCapacity(cluster: Cluster, hosts: readonly Host[], hardware: Drivers['hardware']): number {
  const factor = cluster.config?.redundancyFactor ?? 2
  const remaining = hosts.map((host) => hostCapacity(host, hardware)).sort((a, b) => a - b)
  const kept = hosts.length > factor - 1 ? remaining.slice(0, remaining.length - (factor - 1)) : remaining
  return Math.floor(kept.reduce((sum, bytes) => sum + bytes, 0) / factor)
}
