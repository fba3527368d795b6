/** Simulated block storage; `hardware.faults` apply. Source: behaviour volumes-storage.md 3; clustermgmt.md 3 (how guests fill disks). */
import { defined } from '../../core/defined.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { BlockImages } from '../block-images.ts'
import type { BlockDisk, BlockStorage, DiskUsage } from '../block-storage.ts'
import { type BlockDiskFact, blockDiskFacts, imageFacts } from './block-facts.ts'
import { createImages } from './block-images.ts'
import { createTargets, type TargetCalls } from './block-targets.ts'
import { hasSource, settled, writtenAt } from './block-use.ts'
import { answering } from './hardware-faults.ts'
import { diskFacts } from './hypervisor/facts.ts'
import { contentBytes } from './hypervisor/layers.ts'
import type { SimulatedWorld } from './world.ts'

function createDisks(world: SimulatedWorld): Omit<BlockStorage, keyof BlockImages | keyof TargetCalls> {
  const disks = blockDiskFacts(world)
  const requireAnswer = answering(world)
  const diskOf = (extId: string, call: string): BlockDiskFact => {
    const disk = disks.get(extId)
    if (disk === undefined) throw DriverError.final(`no volume disk ${extId}`)
    requireAnswer(disk.clusterExtId, call)
    return disk
  }
  const copiedBytes = ({ source, sizeBytes }: BlockDisk): number => {
    const now = world.clock.now()
    if (source === undefined) return 0
    if (source.kind === 'volumeDisk')
      return Math.min(sizeBytes, writtenAt(world, diskOf(source.extId, 'createDisk'), now))
    if (source.kind === 'image') {
      const image = imageFacts(world).get(source.extId)
      if (image === undefined) throw DriverError.final(`no image ${source.extId}`)
      return Math.min(sizeBytes, image.writtenBytes)
    }
    const disk = diskFacts(world).get(source.extId)
    if (disk === undefined) throw DriverError.final('the disk to copy is not there')
    return Math.min(sizeBytes, contentBytes(diskFacts(world), disk, now))
  }
  return {
    async createDisk(disk) {
      requireAnswer(disk.clusterExtId, 'createDisk')
      if (disks.get(disk.extId) !== undefined) return
      const copied = copiedBytes(disk)
      const now = world.clock.now()
      const filled = { writtenBytes: copied, sharedBytes: copied, since: now, createdAt: now }
      await disks.put(disk.extId, { ...disk, ...filled, isPublished: false })
    },
    async publishDisk(diskExtId) {
      await disks.put(diskExtId, { ...diskOf(diskExtId, 'publishDisk'), isPublished: true })
    },
    async provisionDisks(diskExtIds, provisioning) {
      const isThick = provisioning === 'thick'
      const changed = new Map<string, BlockDiskFact>()
      for (const extId of diskExtIds) {
        const { isThick: _, ...disk } = disks.get(extId) ?? {}
        if ('extId' in disk) {
          requireAnswer(disk.clusterExtId, 'provisionDisks')
          changed.set(extId, isThick ? { ...disk, isThick } : disk)
        }
      }
      if (changed.size > 0) await disks.putAll(changed)
    },
    thickDisksIn: thickDisksOf(world),
    async resizeDisk(diskExtId, sizeBytes) {
      await disks.put(diskExtId, { ...settled(world, diskOf(diskExtId, 'resizeDisk')), sizeBytes })
    },
    async deleteDisk(diskExtId) {
      requireAnswer(disks.get(diskExtId)?.clusterExtId, 'deleteDisk')
      await disks.remove(diskExtId)
    },

    async usageOf(diskExtIds, at = world.clock.now()) {
      const usages = new Map<string, DiskUsage>()
      for (const extId of diskExtIds) {
        const disk = disks.get(extId)
        if (disk !== undefined) usages.set(extId, usageAt(world, disk, at))
      }
      return usages
    },
  }
}

/** Cached by container until a disk changes, because statistics ask for each container in turn. */
function thickDisksOf(world: SimulatedWorld): BlockStorage['thickDisksIn'] {
  let byContainer: ReadonlyMap<string, ReadonlyMap<string, number>> | undefined
  world.watch(['blockStorage.disks'], () => (byContainer = undefined))
  return (containerExtId) => {
    byContainer ??= thickDisks(blockDiskFacts(world).all())
    return byContainer.get(containerExtId) ?? new Map()
  }
}

function thickDisks(disks: ReadonlyMap<string, BlockDiskFact>): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const thick = [...disks].filter(([, { isThick }]) => isThick === true)
  const byContainer = Map.groupBy(thick, ([, { containerExtId }]) => containerExtId)
  return new Map(
    [...byContainer].map(([container, own]) => [
      container,
      new Map(own.map(([extId, disk]) => [extId, disk.sizeBytes])),
    ]),
  )
}

function usageAt(world: SimulatedWorld, disk: BlockDiskFact, at: number): DiskUsage {
  const writtenBytes = writtenAt(world, disk, at)
  // Shared bytes count for the source while it exists, and for the disk after the source is deleted.
  const uniqueBytes = hasSource(world, disk) ? Math.max(0, writtenBytes - disk.sharedBytes) : writtenBytes
  return { writtenBytes, uniqueBytes, ...defined({ createdAt: disk.createdAt }) }
}

export function createBlockStorage(
  world: SimulatedWorld,
  settings: { readonly durations: 'instant' | 'natural' },
): BlockStorage {
  return { ...createDisks(world), ...createImages(world), ...createTargets(world, settings.durations === 'natural') }
}
