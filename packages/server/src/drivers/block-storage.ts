/**
 * The block storage of a cluster: virtual disks in containers, and targets that serve them to VMs of the cluster and to
 * initiators outside it. Implemented by `simulated/` and by each real backend. Every call that changes something is
 * idempotent; it resolves once its effect is durable, and rejects with a DriverError, retryable when the cluster does
 * not answer within 10 s.
 * Source: behaviour volumes-storage.md 1.3 to 1.6, 3.
 */

export interface BlockDisk {
  readonly extId: string
  readonly clusterExtId: string
  readonly containerExtId: string
  readonly volumeGroupExtId: string
  /** Its number as a LUN of the target. */
  readonly index: number
  readonly sizeBytes: number
  /** Source of a copy; blocks are shared until one of the two is written. */
  readonly source?: BlockSource
}

export interface BlockSource {
  readonly kind: 'volumeDisk' | 'vmDisk'
  readonly extId: string
}

/** A volume group as consumers see it. */
export interface Target {
  readonly volumeGroupExtId: string
  readonly clusterExtId: string
  readonly name: string
  /** Present: initiators must use it (CHAP). Plain text; a backend stores it, or a proof of it. */
  readonly chapSecret?: string
  /** Serves its disks from all controllers rather than from that of the VM's host. */
  readonly isSpread: boolean
  readonly isFlashPinned: boolean
  /** A target for backups, whose disks fill at another pace. */
  readonly isBackupTarget: boolean
}

/** An initiator outside the cluster that may log in to a target. */
export interface Initiator {
  readonly clientExtId: string
  /** iSCSI name or NQN. */
  readonly name?: string
  /** Network address or host name, where it has no name. */
  readonly address?: string
  /** Present: the target must prove itself, too (mutual CHAP). Plain. */
  readonly chapSecret?: string
  /** How many paths it sees. */
  readonly paths: number
}

export interface DiskUsage {
  /** Bytes ever written, including those of its source. */
  readonly writtenBytes: number
  /** The part that is shared with no other disk. */
  readonly uniqueBytes: number
}

export interface BlockStorage {
  /** Creates a thin disk, invisible until `publishDisk`. @throws DriverError, final, when the source is not there */
  createDisk(disk: BlockDisk): Promise<void>
  /** Makes the disk visible to the consumers of its target. */
  publishDisk(diskExtId: string): Promise<void>
  /** Consumers see the new size at once. */
  resizeDisk(diskExtId: string, sizeBytes: number): Promise<void>
  /** Removes the disk from consumers and container; an absent one is no fault. */
  deleteDisk(diskExtId: string): Promise<void>

  /** Creates or changes the target. A new secret ends the sessions, which log in again. */
  putTarget(target: Target): Promise<void>
  /** Ends every session; an absent target is no fault. */
  removeTarget(volumeGroupExtId: string): Promise<void>

  /** Puts the initiator on the target's access list, or changes the secret of its entry: its sessions log in again. */
  allow(volumeGroupExtId: string, initiator: Initiator): Promise<void>
  /** Removes the initiator, and ends its sessions with this target. */
  deny(volumeGroupExtId: string, clientExtId: string): Promise<void>

  /** Puts the group's disks on the SCSI bus of a VM, running or not. */
  plug(volumeGroupExtId: string, vmExtId: string, scsiIndex: number): Promise<void>
  /** Removes them. `isForced`: the guest did not release the disks within 60 s. */
  unplug(volumeGroupExtId: string, vmExtId: string): Promise<{ readonly isForced: boolean }>

  /** Current usage of these disks; absent disks are left out. Reads only. */
  usageOf(diskExtIds: readonly string[]): Promise<ReadonlyMap<string, DiskUsage>>
}
