/**
 * What the control plane asks of a cluster's block storage: virtual disks in containers, and targets that serve them to VMs
 * of the cluster and to initiators outside it. Implemented by `simulated/` and by each real backend.
 * Every call that changes something may be repeated and then changes nothing more; it resolves once its effect is durable,
 * and rejects with a DriverError, retryable when the cluster does not answer within 10 s.
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
  /** What it is a copy of: bytes are shared until one of the two writes them. */
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
  /** Present: initiators must know it (CHAP). Plain; a backend keeps it, or what proves it. */
  readonly chapSecret?: string
  /** Serves its disks from all controllers rather than from that of the VM's host. */
  readonly isSpread: boolean
  readonly isFlashPinned: boolean
  /** A place for backups, which fill in their own way. */
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
  /** Bytes that were ever written, those of its source included. */
  readonly writtenBytes: number
  /** Of these, what it shares with no other disk. */
  readonly uniqueBytes: number
}

export interface BlockStorage {
  /** Makes a thin disk; nobody sees it before `publishDisk`. @throws DriverError, final, when the source is not there */
  createDisk(disk: BlockDisk): Promise<void>
  /** Shows the disk to whoever the target serves. */
  publishDisk(diskExtId: string): Promise<void>
  /** Consumers see the new size at once. */
  resizeDisk(diskExtId: string, sizeBytes: number): Promise<void>
  /** Vanishes from consumers and from the container. One that is not there is no fault. */
  deleteDisk(diskExtId: string): Promise<void>

  /** Makes the target, or gives a known one these settings. A new secret ends the sessions, which log in again. */
  putTarget(target: Target): Promise<void>
  /** Ends every session. One that is not there is no fault. */
  removeTarget(volumeGroupExtId: string): Promise<void>

  /** Puts the initiator on the target's access list, or gives a known entry this secret: its sessions log in again. */
  allow(volumeGroupExtId: string, initiator: Initiator): Promise<void>
  /** Takes it off, and ends its sessions with this target. */
  deny(volumeGroupExtId: string, clientExtId: string): Promise<void>

  /** Puts the group's disks on the SCSI bus of a VM, running or not. */
  plug(volumeGroupExtId: string, vmExtId: string, scsiIndex: number): Promise<void>
  /** Takes them off. `isForced`: the guest did not let go within 60 s. */
  unplug(volumeGroupExtId: string, vmExtId: string): Promise<{ readonly isForced: boolean }>

  /** What disks hold at this moment; those that are not there are left out. Reads only. */
  usageOf(diskExtIds: readonly string[]): Promise<ReadonlyMap<string, DiskUsage>>
}
