/**
 * Physical drives in the slots of hosts, in storage pools and outside. Source: behaviour clustermgmt.md 1.8, 3.
 *
 * A joining node: `poolDrivesOf`, then `recordDisks` (domains/storage-space/disks.ts) in the transaction that adds the host's row.
 * A leaving node: `unpoolDrivesOf`, then `forgetDisks` with the row; its drives stay in their slots.
 * New nodes get drives from `drivesFor` (simulated/drives.ts).
 */

export type DriveTier = 'SSD_PCIE' | 'SSD_SATA' | 'DAS_SATA' | 'SSD_MEM_NVME'
export type PartitionType = 'EXT4' | 'XFS'

/** PULLED: the pool has the drive, and its slot does not. */
export type DriveFault = 'OFFLINE' | 'BROKEN' | 'PULLED'

export interface Drive {
  readonly extId: string
  readonly hostExtId: string
  /** From 1. */
  readonly slot: number
  readonly serialNumber: string
  readonly vendor: string
  readonly model: string
  readonly firmwareVersion: string
  readonly sizeBytes: number
  readonly tier: DriveTier
  readonly isBootDrive: boolean
  /** The storage pool of the host's cluster has the drive. */
  readonly isInPool: boolean
  /** Its data is moving to other drives; the pool does not count its capacity. */
  readonly isLeaving: boolean
  readonly fault?: { readonly kind: DriveFault; readonly since: number }
  /** 1 is the speed of a good drive, 2 half of it. */
  readonly slowdown: number
  readonly ledEngagedUntil?: number
  /** Size of the drive that was in the slot before. */
  readonly replacedBytes?: number
  /** Oldest first; absent: the drive has always had its fair share of the data of the pool. */
  readonly fillings?: readonly Filling[]
}

/** Part of its fair share of the pool's data that a drive has, between two times. */
export interface Filling {
  readonly from: number
  readonly to: number
  readonly since: number
  readonly until: number
}

export function shareAt({ fillings = [] }: Pick<Drive, 'fillings'>, at: number): number {
  const filling = fillings.findLast(({ since }) => since <= at) ?? fillings[0]
  if (filling === undefined) return 1
  const { from, to, since, until } = filling
  if (at < since) return from
  return at >= until ? to : from + ((to - from) * (at - since)) / (until - since)
}

export interface Evacuation {
  /** To move away, or to copy from the replicas of a lost drive. */
  readonly bytes: number
  /** Rate of the copies of a lost drive; default: the rate of drives that work. */
  readonly bytesPerSecond?: number
}

/** Calls with a cluster reject as those of `Hardware`. */
export interface Drives {
  drivesOf(hostExtId: string): readonly Drive[]

  partitionDrive(clusterExtId: string, driveExtId: string, type: PartitionType): Promise<void>
  /** Resolves also for a drive of the pool. A new one is filled with `bytes` from then on. */
  poolDrive(clusterExtId: string, driveExtId: string, bytes: number): Promise<void>
  /** Resolves also for a drive that the pool does not have. */
  unpoolDrive(clusterExtId: string, driveExtId: string): Promise<void>
  /** Resolves when all data has moved; a repeated call continues. @param report gets the moved share; its error ends only the call */
  evacuateDrive(
    clusterExtId: string,
    driveExtId: string,
    evacuation: Evacuation,
    report: (share: number) => Promise<void>,
  ): Promise<void>
  /** Moved data stays moved. Resolves also if the drive is not being evacuated. */
  stopEvacuation(clusterExtId: string, driveExtId: string): Promise<void>
  /** An engaged LED goes off after 24 h. */
  setDriveLed(clusterExtId: string, driveExtId: string, isEngaged: boolean): Promise<void>

  /** All drives in the slots of a node that joins the cluster. */
  poolDrivesOf(clusterExtId: string, hostExtId: string): Promise<void>
  /** All drives of a node that leaves the cluster, or whose cluster is destroyed. */
  unpoolDrivesOf(clusterExtId: string, hostExtId: string): Promise<void>
}
