/**
 * Simulated block storage. Clusters that do not answer or refuse calls come from `hardware.faults`.
 * Source: behaviour volumes-storage.md 3; clustermgmt.md 3 (how guests fill disks).
 */
import { DriverError } from '../../core/tasks/define-task.ts'
import type { BlockDisk, BlockStorage, DiskUsage, Initiator, Target } from '../block-storage.ts'
import { secretDigest } from '../hardware.ts'
import type { HardwareFault } from './hardware.ts'
import { diskFacts, domainFacts } from './hypervisor/facts.ts'
import { contentBytes } from './hypervisor/layers.ts'
import type { Collection, SimulatedWorld } from './world.ts'

export interface BlockDiskFact extends BlockDisk {
  readonly isPublished: boolean
  /** Bytes written until `since`; later growth is a function of time. */
  readonly writtenBytes: number
  readonly since: number
  readonly sharedBytes: number
}

export interface TargetFact extends Omit<Target, 'chapSecret'> {
  readonly chapDigest?: string
  /** By client id. */
  readonly accessList: Readonly<Record<string, Omit<Initiator, 'chapSecret'> & { readonly chapDigest?: string }>>
  /** SCSI index by VM id. */
  readonly plugs: Readonly<Record<string, number>>
}

export const blockDiskFacts = (world: SimulatedWorld): Collection<BlockDiskFact> =>
  world.collection('blockStorage.disks')
export const targetFacts = (world: SimulatedWorld): Collection<TargetFact> => world.collection('blockStorage.targets')

const day = 24 * 3600 * 1000
const patienceSeconds = 60

class BlockFacts {
  readonly disks: Collection<BlockDiskFact>
  readonly targets: Collection<TargetFact>
  readonly #world: SimulatedWorld
  readonly #faults: Collection<HardwareFault>

  constructor(world: SimulatedWorld) {
    this.#world = world
    this.disks = blockDiskFacts(world)
    this.targets = targetFacts(world)
    this.#faults = world.collection('hardware.faults')
  }

  requireAnswer(clusterExtId: string | undefined, call: string): void {
    const fault = clusterExtId === undefined ? undefined : this.#faults.get(clusterExtId)
    if (fault?.isDown === true) throw new DriverError(`${call}: no answer within 10 s`, { retryable: true })
    if (fault?.refuses?.includes(call)) throw new DriverError(`${call} was refused`, { retryable: false })
  }

  target(volumeGroupExtId: string, call: string): TargetFact {
    const target = this.targets.get(volumeGroupExtId)
    if (target === undefined) throw new DriverError(`no target of ${volumeGroupExtId}`, { retryable: false })
    this.requireAnswer(target.clusterExtId, call)
    return target
  }

  disk(extId: string, call: string): BlockDiskFact {
    const disk = this.disks.get(extId)
    if (disk === undefined) throw new DriverError(`no volume disk ${extId}`, { retryable: false })
    this.requireAnswer(disk.clusterExtId, call)
    return disk
  }

  /** A disk fills only while a VM or client uses its target. */
  writtenNow(disk: BlockDiskFact): number {
    const target = this.targets.get(disk.volumeGroupExtId)
    if (target === undefined || isIdle(target)) return disk.writtenBytes
    return grown(disk, this.#world.clock.now() - disk.since, target.isBackupTarget)
  }

  settled(disk: BlockDiskFact): BlockDiskFact {
    return { ...disk, writtenBytes: this.writtenNow(disk), since: this.#world.clock.now() }
  }

  /** Settles the disks first, if the target becomes idle or busy: that changes the rate at which they fill. */
  async reconsume(target: TargetFact, changed: TargetFact): Promise<void> {
    if (isIdle(target) !== isIdle(changed)) {
      const own = [...this.disks.all()].filter(([, disk]) => disk.volumeGroupExtId === target.volumeGroupExtId)
      await this.disks.putAll(new Map(own.map(([extId, disk]) => [extId, this.settled(disk)])))
    }
    await this.targets.put(target.volumeGroupExtId, changed)
  }

  copiedBytes({ source, sizeBytes }: BlockDisk): number {
    if (source === undefined) return 0
    if (source.kind === 'volumeDisk') return Math.min(sizeBytes, this.writtenNow(this.disk(source.extId, 'createDisk')))
    const disk = diskFacts(this.#world).get(source.extId)
    if (disk === undefined) throw new DriverError('the disk to copy is not there', { retryable: false })
    return Math.min(sizeBytes, contentBytes(diskFacts(this.#world), disk, this.#world.clock.now()))
  }

  usage(disk: BlockDiskFact): DiskUsage {
    const writtenBytes = this.writtenNow(disk)
    // Shared bytes count for the source while it exists, and for the disk after the source is deleted.
    return { writtenBytes, uniqueBytes: this.#hasSource(disk) ? writtenBytes - disk.sharedBytes : writtenBytes }
  }

  #hasSource({ source }: BlockDiskFact): boolean {
    if (source === undefined) return false
    const disks = source.kind === 'volumeDisk' ? this.disks : diskFacts(this.#world)
    return disks.get(source.extId) !== undefined
  }
}

type DiskCalls = Pick<BlockStorage, 'createDisk' | 'publishDisk' | 'resizeDisk' | 'deleteDisk' | 'usageOf'>

function createDisks(world: SimulatedWorld, blocks: BlockFacts): DiskCalls {
  const { disks } = blocks
  return {
    async createDisk(disk) {
      blocks.requireAnswer(disk.clusterExtId, 'createDisk')
      if (disks.get(disk.extId) !== undefined) return
      const copied = blocks.copiedBytes(disk)
      const fact = { ...disk, isPublished: false, writtenBytes: copied, sharedBytes: copied, since: world.clock.now() }
      await disks.put(disk.extId, fact)
    },
    async publishDisk(diskExtId) {
      await disks.put(diskExtId, { ...blocks.disk(diskExtId, 'publishDisk'), isPublished: true })
    },
    async resizeDisk(diskExtId, sizeBytes) {
      await disks.put(diskExtId, { ...blocks.settled(blocks.disk(diskExtId, 'resizeDisk')), sizeBytes })
    },
    async deleteDisk(diskExtId) {
      blocks.requireAnswer(disks.get(diskExtId)?.clusterExtId, 'deleteDisk')
      await disks.remove(diskExtId)
    },

    async usageOf(diskExtIds) {
      const usages = new Map<string, DiskUsage>()
      for (const extId of diskExtIds) {
        const disk = disks.get(extId)
        if (disk !== undefined) usages.set(extId, blocks.usage(disk))
      }
      return usages
    },
  }
}

function createTargets(
  world: SimulatedWorld,
  blocks: BlockFacts,
  isNatural: boolean,
): Omit<BlockStorage, keyof DiskCalls> {
  const { targets } = blocks
  return {
    async putTarget({ chapSecret, ...target }) {
      blocks.requireAnswer(target.clusterExtId, 'putTarget')
      const { accessList = {}, plugs = {} } = targets.get(target.volumeGroupExtId) ?? {}
      const proof =
        chapSecret === undefined ? {} : { chapDigest: secretDigest(`target/${target.volumeGroupExtId}`, chapSecret) }
      await targets.put(target.volumeGroupExtId, { ...target, ...proof, accessList, plugs })
    },
    async removeTarget(volumeGroupExtId) {
      blocks.requireAnswer(targets.get(volumeGroupExtId)?.clusterExtId, 'removeTarget')
      await targets.remove(volumeGroupExtId)
    },

    async allow(volumeGroupExtId, { chapSecret, ...initiator }) {
      const target = blocks.target(volumeGroupExtId, 'allow')
      const proof =
        chapSecret === undefined ? {} : { chapDigest: secretDigest(`client/${initiator.clientExtId}`, chapSecret) }
      const accessList = { ...target.accessList, [initiator.clientExtId]: { ...initiator, ...proof } }
      await blocks.reconsume(target, { ...target, accessList })
    },
    async deny(volumeGroupExtId, clientExtId) {
      const target = targets.get(volumeGroupExtId)
      if (target?.accessList[clientExtId] === undefined) return
      blocks.requireAnswer(target.clusterExtId, 'deny')
      const { [clientExtId]: _, ...accessList } = target.accessList
      await blocks.reconsume(target, { ...target, accessList })
    },

    async plug(volumeGroupExtId, vmExtId, scsiIndex) {
      const target = blocks.target(volumeGroupExtId, 'plug')
      await blocks.reconsume(target, { ...target, plugs: { ...target.plugs, [vmExtId]: scsiIndex } })
    },
    async unplug(volumeGroupExtId, vmExtId) {
      const domain = domainFacts(world).get(vmExtId)
      const isForced = domain?.state === 'ON' && domain.hungSince !== undefined
      const target = targets.get(volumeGroupExtId)
      if (target?.plugs[vmExtId] === undefined) return { isForced }
      blocks.requireAnswer(target.clusterExtId, 'unplug')
      if (isForced && isNatural) await world.clock.sleep(1000 * patienceSeconds)
      const present = targets.get(volumeGroupExtId)
      if (present === undefined) return { isForced }
      const { [vmExtId]: _, ...plugs } = present.plugs
      await blocks.reconsume(present, { ...present, plugs })
      return { isForced }
    },
  }
}

export function createBlockStorage(
  world: SimulatedWorld,
  settings: { readonly durations: 'instant' | 'natural' },
): BlockStorage {
  const blocks = new BlockFacts(world)
  return { ...createDisks(world, blocks), ...createTargets(world, blocks, settings.durations === 'natural') }
}

const isIdle = (target: TargetFact): boolean =>
  Object.keys(target.plugs).length === 0 && Object.keys(target.accessList).length === 0

/** Backups add 2 % of the size a day until 95 %; everything else nears 65 % with a time constant of 20 days. */
function grown(
  disk: Pick<BlockDiskFact, 'sizeBytes' | 'writtenBytes'>,
  elapsedMillis: number,
  isBackupTarget: boolean,
): number {
  const days = Math.max(0, elapsedMillis) / day
  const full = Math.floor((disk.sizeBytes * (isBackupTarget ? 95 : 65)) / 100)
  if (disk.writtenBytes >= full) return disk.writtenBytes
  const added = isBackupTarget ? disk.sizeBytes * 0.02 * days : (full - disk.writtenBytes) * (1 - Math.exp(-days / 20))
  return Math.min(full, disk.writtenBytes + Math.floor(added))
}
