/** Facts of simulated block storage. Times are milliseconds since 1970. */
import { DriverError } from '../../core/tasks/define-task.ts'
import type { BlockDisk, Initiator, Target } from '../block-storage.ts'
import type { HardwareFault } from './hardware.ts'
import type { Collection, SimulatedWorld } from './world.ts'

export interface BlockDiskFact extends BlockDisk {
  readonly isPublished: boolean
  /** Bytes written until `since`; later growth is a function of time. */
  readonly writtenBytes: number
  readonly since: number
  /** Earlier values of the three, oldest first. */
  readonly fills?: readonly Pick<BlockDiskFact, 'since' | 'sizeBytes' | 'writtenBytes'>[]
  /** Absent: it has always been there. */
  readonly createdAt?: number
  readonly sharedBytes: number
  /** Reserves its whole size. */
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
        /** Time of the permission, or of the last change of a secret. Absent: it has always been there. */
        readonly loginFrom?: number
      }
    >
  >
  /** SCSI index by VM id. */
  readonly plugs: Readonly<Record<string, number>>
  /** By VM id; milliseconds since 1970. */
  readonly plugTimes?: Readonly<Record<string, number>>
  /** Nobody reads or writes its disks. */
  readonly suspendedSince?: number
  readonly resumedAt?: number
  /** Of the last revert. */
  readonly hydration?: { readonly from: number; readonly totalBytes: number; readonly failedAt?: number }
}

export const blockDiskFacts = (world: SimulatedWorld): Collection<BlockDiskFact> =>
  world.collection('blockStorage.disks')
/** By image id. An image is a disk that nobody writes to. */
export const imageFacts = (world: SimulatedWorld): Collection<BlockDiskFact> => world.collection('blockStorage.images')
export const targetFacts = (world: SimulatedWorld): Collection<TargetFact> => world.collection('blockStorage.targets')

/** Refuses calls of clusters that do not answer, or that a fault makes refuse. */
export function createAnswers(world: SimulatedWorld): {
  /** @throws DriverError */
  require(clusterExtId: string | undefined, call: string): void
} {
  const faults = world.collection<HardwareFault>('hardware.faults')
  return {
    require(clusterExtId, call) {
      const fault = clusterExtId === undefined ? undefined : faults.get(clusterExtId)
      if (fault?.isDown === true) throw DriverError.retryable(`${call}: no answer within 10 s`)
      if (fault?.refuses?.includes(call)) throw DriverError.final(`${call} was refused`)
    },
  }
}
