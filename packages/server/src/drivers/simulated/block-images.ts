/** Images of simulated volume disks. Source: behaviour volumes-storage.md 1.2 (Revert), 3. */
import { defined } from '../../core/defined.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { BlockHydration, BlockImages } from '../block-images.ts'
import {
  type BlockDiskFact,
  blockDiskFacts,
  imageFacts,
  type TargetFact,
  targetFacts,
  targetFor,
} from './block-facts.ts'
import { hasSource, settled, writtenAt } from './block-use.ts'
import { answering } from './hardware-faults.ts'
import type { SimulatedWorld } from './world.ts'

const hydrationBytesPerMilli = (300 * 1024 * 1024) / 1000

export const createImages = (world: SimulatedWorld): BlockImages => ({
  ...createSnapshots(world),
  ...createReverts(world),
})

function createReverts(world: SimulatedWorld): Omit<BlockImages, keyof Snapshots> {
  const disks = blockDiskFacts(world)
  const images = imageFacts(world)
  const targets = targetFacts(world)
  const now = (): number => world.clock.now()
  return {
    async suspendTarget(volumeGroupExtId) {
      const target = targetFor(world, volumeGroupExtId, 'suspendTarget')
      if (target.suspendedSince === undefined) await targets.put(volumeGroupExtId, { ...target, suspendedSince: now() })
    },
    async resumeTarget(volumeGroupExtId) {
      const { suspendedSince, ...target } = targetFor(world, volumeGroupExtId, 'resumeTarget')
      if (suspendedSince === undefined) return
      const wasSuspended = suspendedSince < now()
      await targets.put(volumeGroupExtId, { ...target, ...(wasSuspended && { resumedAt: now() }) })
    },

    async putContents(volumeGroupExtId, wanted) {
      const { clusterExtId } = targetFor(world, volumeGroupExtId, 'putContents')
      const next = new Map<string, BlockDiskFact | undefined>()
      for (const [extId, disk] of disks.all())
        if (disk.volumeGroupExtId === volumeGroupExtId) next.set(extId, undefined)
      for (const { imageExtId, ...disk } of wanted) {
        const image = images.get(imageExtId)
        if (image === undefined) throw DriverError.final(`no image ${imageExtId}`)
        const former = disks.get(disk.extId)
        const { fills } = former === undefined ? {} : settled(world, former)
        const createdAt = former === undefined ? (disk.createdAt ?? now()) : former.createdAt
        const { writtenBytes } = image
        next.set(disk.extId, {
          ...{ ...disk, clusterExtId, volumeGroupExtId, isPublished: true, writtenBytes, sharedBytes: writtenBytes },
          ...{ source: { kind: 'image', extId: imageExtId }, since: now() },
          ...defined({ fills, createdAt }),
        })
      }
      await disks.putAll(next)
    },
    async startHydration(volumeGroupExtId) {
      const target = targetFor(world, volumeGroupExtId, 'startHydration')
      const own = [...disks.all().values()].filter((disk) => disk.volumeGroupExtId === volumeGroupExtId)
      const totalBytes = own.reduce((sum, disk) => sum + writtenAt(world, disk, now()), 0)
      await targets.put(volumeGroupExtId, { ...target, hydration: { from: now(), totalBytes } })
    },
    async stopHydration(volumeGroupExtId) {
      const { hydration, ...target } = targetFor(world, volumeGroupExtId, 'stopHydration')
      if (hydration !== undefined) await targets.put(volumeGroupExtId, target)
    },
    hydrationOf: (volumeGroupExtId, at = now()) => hydrationAt(targets.get(volumeGroupExtId)?.hydration, at),
  }
}

type Snapshots = Pick<BlockImages, 'deleteImage' | 'imagesIn' | 'snapshotBlocks'>

function createSnapshots(world: SimulatedWorld): Snapshots {
  const disks = blockDiskFacts(world)
  const images = imageFacts(world)
  const requireAnswer = answering(world)
  const now = (): number => world.clock.now()
  return {
    async snapshotBlocks(wanted) {
      const taken = new Map<string, BlockDiskFact>()
      const layered = new Map<string, BlockDiskFact>()
      for (const { imageExtId, diskExtId } of wanted) {
        const disk = disks.get(diskExtId)
        if (disk === undefined) throw DriverError.final(`no volume disk ${diskExtId}`)
        requireAnswer(disk.clusterExtId, 'snapshotBlocks')
        if (isOver(disk, imageExtId)) continue
        const present = settled(world, disk)
        const { fills: _, ...image } = present
        const kept = images.get(imageExtId) ?? { ...image, since: now(), createdAt: now() }
        taken.set(imageExtId, kept)
        const source = { kind: 'image', extId: imageExtId } as const
        layered.set(diskExtId, { ...present, source, sharedBytes: kept.writtenBytes })
      }
      await images.putAll(taken)
      await disks.putAll(layered)
    },
    async deleteImage(imageExtId) {
      const image = images.get(imageExtId)
      if (image === undefined) return
      requireAnswer(image.clusterExtId, 'deleteImage')
      const { source, sharedBytes } = image
      for (const facts of [disks, images]) {
        const upon = [...facts.all()].filter(([, fact]) => isOver(fact, imageExtId))
        const rebased = upon.map(([extId, { source: _, ...fact }]): [string, BlockDiskFact] => [
          extId,
          { ...fact, ...defined({ source }), sharedBytes },
        ])
        if (rebased.length > 0) await facts.putAll(new Map(rebased))
      }
      await images.remove(imageExtId)
    },
    imagesIn: (containerExtId) =>
      [...images.all()].flatMap(([extId, image]) => {
        if (image.containerExtId !== containerExtId) return []
        const { writtenBytes, sharedBytes, createdAt } = image
        const uniqueBytes = hasSource(world, image) ? Math.max(0, writtenBytes - sharedBytes) : writtenBytes
        return { extId, writtenBytes, uniqueBytes, ...defined({ createdAt }) }
      }),
  }
}

const isOver = ({ source }: BlockDiskFact, imageExtId: string): boolean =>
  source?.kind === 'image' && source.extId === imageExtId

export function hydrationAt(hydration: TargetFact['hydration'], at: number): BlockHydration | undefined {
  if (hydration === undefined || at < hydration.from) return undefined
  const { from, totalBytes, failedAt = Number.POSITIVE_INFINITY } = hydration
  const copied = Math.floor((Math.min(at, failedAt) - from) * hydrationBytesPerMilli)
  const remainingBytes = Math.max(0, totalBytes - copied)
  const status = remainingBytes === 0 ? 'COMPLETE' : at >= failedAt ? 'FAIL' : 'IN_PROGRESS'
  return { status, remainingBytes }
}

/** The copying stops where it is. @returns false if there is none under way */
export async function failHydration(world: SimulatedWorld, volumeGroupExtId: string): Promise<boolean> {
  const target = targetFacts(world).get(volumeGroupExtId)
  const now = world.clock.now()
  if (target?.hydration === undefined || hydrationAt(target.hydration, now)?.status !== 'IN_PROGRESS') return false
  await targetFacts(world).put(volumeGroupExtId, { ...target, hydration: { ...target.hydration, failedAt: now } })
  return true
}

export async function resumeHydration(world: SimulatedWorld, volumeGroupExtId: string): Promise<boolean> {
  const target = targetFacts(world).get(volumeGroupExtId)
  const now = world.clock.now()
  const hydration = hydrationAt(target?.hydration, now)
  if (target === undefined || hydration?.status !== 'FAIL') return false
  const resumed = { from: now, totalBytes: hydration.remainingBytes }
  await targetFacts(world).put(volumeGroupExtId, { ...target, hydration: resumed })
  return true
}
