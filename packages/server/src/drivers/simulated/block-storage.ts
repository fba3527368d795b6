/**
 * Block storage, simulated. The facts, by collection: `blockStorage.disks`, `blockStorage.targets` with access list and
 * plugs. Clusters that do not answer, or refuse a call, are those of `hardware.faults`; a guest that hangs lets go of nothing.
 * Source: behaviour volumes-storage.md 3; clustermgmt.md 3 (how guests fill disks).
 */
import { DriverError } from '../../core/tasks/define-task.ts'
import type { BlockDisk, BlockStorage, DiskUsage, Initiator, Target } from '../block-storage.ts'
import { secretDigest } from '../hardware.ts'
import type { HardwareFault } from './hardware.ts'
import { diskFacts, domainFacts } from './hypervisor/facts.ts'
import type { Collection, SimulatedWorld } from './world.ts'

export interface BlockDiskFact extends BlockDisk {
  readonly isPublished: boolean
  /** Written when `since` was noted; what came after follows from the time. */
  readonly writtenBytes: number
  readonly since: number
  /** Of the bytes written, those of the source. */
  readonly sharedBytes: number
}

export interface TargetFact extends Omit<Target, 'chapSecret'> {
  readonly chapDigest?: string
  /** By client. */
  readonly accessList: Readonly<Record<string, Omit<Initiator, 'chapSecret'> & { readonly chapDigest?: string }>>
  /** SCSI index by VM. */
  readonly plugs: Readonly<Record<string, number>>
}

export const blockDiskFacts = (world: SimulatedWorld): Collection<BlockDiskFact> =>
  world.collection('blockStorage.disks')
export const targetFacts = (world: SimulatedWorld): Collection<TargetFact> => world.collection('blockStorage.targets')

const day = 24 * 3600 * 1000
/** A guest has so long to let go of its disks. */
const patienceSeconds = 60

export function createBlockStorage(
  world: SimulatedWorld,
  settings: { readonly durations: 'instant' | 'natural' },
): BlockStorage {
  const disks = blockDiskFacts(world)
  const targets = targetFacts(world)
  const faults = world.collection<HardwareFault>('hardware.faults')

  /** @throws DriverError when the cluster cannot do this now */
  const ask = (clusterExtId: string | undefined, call: string): void => {
    const fault = clusterExtId === undefined ? undefined : faults.get(clusterExtId)
    if (fault?.isDown === true) throw new DriverError(`${call}: no answer within 10 s`, { retryable: true })
    if (fault?.refuses?.includes(call)) throw new DriverError(`${call} was refused`, { retryable: false })
  }
  const knownTarget = (volumeGroupExtId: string, call: string): TargetFact => {
    const target = targets.get(volumeGroupExtId)
    if (target === undefined) throw new DriverError(`no target of ${volumeGroupExtId}`, { retryable: false })
    ask(target.clusterExtId, call)
    return target
  }
  const knownDisk = (extId: string, call: string): BlockDiskFact => {
    const disk = disks.get(extId)
    if (disk === undefined) throw new DriverError(`no volume disk ${extId}`, { retryable: false })
    ask(disk.clusterExtId, call)
    return disk
  }

  /** Only what is consumed is written to. */
  function writtenNow(disk: BlockDiskFact): number {
    const target = targets.get(disk.volumeGroupExtId)
    if (target === undefined || isIdle(target)) return disk.writtenBytes
    return grown(disk, world.clock.now() - disk.since, target.isBackupTarget)
  }
  const settled = (disk: BlockDiskFact): BlockDiskFact => ({
    ...disk,
    writtenBytes: writtenNow(disk),
    since: world.clock.now(),
  })

  /** Changes the consumers of a target. What its disks were written until now is noted before, since the pace changes. */
  async function reconsume(target: TargetFact, changed: TargetFact): Promise<void> {
    if (isIdle(target) !== isIdle(changed)) {
      const own = [...disks.all()].filter(([, disk]) => disk.volumeGroupExtId === target.volumeGroupExtId)
      await disks.putAll(new Map(own.map(([extId, disk]) => [extId, settled(disk)])))
    }
    await targets.put(target.volumeGroupExtId, changed)
  }

  function copiedBytes({ source, sizeBytes }: BlockDisk): number {
    if (source === undefined) return 0
    if (source.kind === 'volumeDisk') return Math.min(sizeBytes, writtenNow(knownDisk(source.extId, 'createDisk')))
    const disk = diskFacts(world).get(source.extId)
    if (disk === undefined) throw new DriverError('the disk to copy is not there', { retryable: false })
    const filled = { sizeBytes: disk.sizeBytes, writtenBytes: 0 }
    return Math.min(sizeBytes, grown(filled, world.clock.now() - disk.createdAt, false))
  }

  const isThere = ({ source }: BlockDiskFact): boolean =>
    source !== undefined &&
    (source.kind === 'volumeDisk' ? disks.get(source.extId) : diskFacts(world).get(source.extId)) !== undefined

  function usage(disk: BlockDiskFact): DiskUsage {
    const writtenBytes = writtenNow(disk)
    // Who outlives the other holds what they shared.
    return { writtenBytes, uniqueBytes: isThere(disk) ? writtenBytes - disk.sharedBytes : writtenBytes }
  }

  return {
    async createDisk(disk) {
      ask(disk.clusterExtId, 'createDisk')
      if (disks.get(disk.extId) !== undefined) return
      const copied = copiedBytes(disk)
      const fact = { ...disk, isPublished: false, writtenBytes: copied, sharedBytes: copied, since: world.clock.now() }
      await disks.put(disk.extId, fact)
    },
    async publishDisk(diskExtId) {
      await disks.put(diskExtId, { ...knownDisk(diskExtId, 'publishDisk'), isPublished: true })
    },
    async resizeDisk(diskExtId, sizeBytes) {
      await disks.put(diskExtId, { ...settled(knownDisk(diskExtId, 'resizeDisk')), sizeBytes })
    },
    async deleteDisk(diskExtId) {
      ask(disks.get(diskExtId)?.clusterExtId, 'deleteDisk')
      await disks.remove(diskExtId)
    },

    async putTarget({ chapSecret, ...target }) {
      ask(target.clusterExtId, 'putTarget')
      const { accessList = {}, plugs = {} } = targets.get(target.volumeGroupExtId) ?? {}
      const proof =
        chapSecret === undefined ? {} : { chapDigest: secretDigest(`target/${target.volumeGroupExtId}`, chapSecret) }
      await targets.put(target.volumeGroupExtId, { ...target, ...proof, accessList, plugs })
    },
    async removeTarget(volumeGroupExtId) {
      ask(targets.get(volumeGroupExtId)?.clusterExtId, 'removeTarget')
      await targets.remove(volumeGroupExtId)
    },

    async allow(volumeGroupExtId, { chapSecret, ...initiator }) {
      const target = knownTarget(volumeGroupExtId, 'allow')
      const proof =
        chapSecret === undefined ? {} : { chapDigest: secretDigest(`client/${initiator.clientExtId}`, chapSecret) }
      const accessList = { ...target.accessList, [initiator.clientExtId]: { ...initiator, ...proof } }
      await reconsume(target, { ...target, accessList })
    },
    async deny(volumeGroupExtId, clientExtId) {
      const target = targets.get(volumeGroupExtId)
      if (target?.accessList[clientExtId] === undefined) return
      ask(target.clusterExtId, 'deny')
      const { [clientExtId]: _, ...accessList } = target.accessList
      await reconsume(target, { ...target, accessList })
    },

    async plug(volumeGroupExtId, vmExtId, scsiIndex) {
      const target = knownTarget(volumeGroupExtId, 'plug')
      await reconsume(target, { ...target, plugs: { ...target.plugs, [vmExtId]: scsiIndex } })
    },
    async unplug(volumeGroupExtId, vmExtId) {
      const domain = domainFacts(world).get(vmExtId)
      const isForced = domain?.state === 'ON' && domain.hungSince !== undefined
      const target = targets.get(volumeGroupExtId)
      if (target?.plugs[vmExtId] === undefined) return { isForced }
      ask(target.clusterExtId, 'unplug')
      if (isForced && settings.durations === 'natural') await world.clock.sleep(1000 * patienceSeconds)
      const present = targets.get(volumeGroupExtId)
      if (present === undefined) return { isForced }
      const { [vmExtId]: _, ...plugs } = present.plugs
      await reconsume(present, { ...present, plugs })
      return { isForced }
    },

    async usageOf(diskExtIds) {
      const found = new Map<string, DiskUsage>()
      for (const extId of diskExtIds) {
        const disk = disks.get(extId)
        if (disk !== undefined) found.set(extId, usage(disk))
      }
      return found
    },
  }
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
