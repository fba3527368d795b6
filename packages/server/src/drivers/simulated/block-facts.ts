import { DriverError } from '../../core/tasks/define-task.ts'
import type { BlockDisk, Initiator, Target } from '../block-storage.ts'
import { answering } from './hardware-faults.ts'
import type { SimulatedWorld } from './world.ts'

export interface BlockDiskFact extends BlockDisk {
  readonly isPublished: boolean
  /** Until `since`; later growth is a function of time. */
  readonly writtenBytes: number
  readonly since: number
  /** Earlier values of the three, oldest first. */
  readonly fills?: readonly Pick<BlockDiskFact, 'since' | 'sizeBytes' | 'writtenBytes'>[]
  /** Absent: it has always been there. */
  readonly createdAt?: number
  readonly sharedBytes: number
  readonly isThick?: boolean
}

export interface TargetFact extends Omit<Target, 'chapSecret'> {
  readonly chapDigest?: string
  /** By client id. */
  readonly accessList: Readonly<
    Record<
      string,
      Omit<Initiator, 'chapSecret'> & {
        readonly chapDigest?: string
        /** When the permission, or the last change of a secret, was made. Absent: it has always been there. */
        readonly loginFrom?: number
      }
    >
  >
  readonly plugs: Readonly<Record<string, number>>
  /** By VM id. */
  readonly plugTimes?: Readonly<Record<string, number>>
  /** Clients cannot read or write its disks. */
  readonly suspendedSince?: number
  readonly resumedAt?: number
  readonly hydration?: { readonly from: number; readonly totalBytes: number; readonly failedAt?: number }
}

export const blockDiskFacts = (world: SimulatedWorld) => world.collection<BlockDiskFact>('blockStorage.disks')
/** By image id. An image is a read-only disk. */
export const imageFacts = (world: SimulatedWorld) => world.collection<BlockDiskFact>('blockStorage.images')
export const targetFacts = (world: SimulatedWorld) => world.collection<TargetFact>('blockStorage.targets')

/** @throws DriverError when there is no target, or its cluster cannot do `call` now */
export function targetFor(world: SimulatedWorld, volumeGroupExtId: string, call: string): TargetFact {
  const target = targetFacts(world).get(volumeGroupExtId)
  if (target === undefined) throw DriverError.final(`no target of ${volumeGroupExtId}`)
  answering(world)(target.clusterExtId, call)
  return target
}
