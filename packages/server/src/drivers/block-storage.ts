/**
 * Virtual disks of a cluster, and targets that serve them to VMs and external initiators. Changing calls are
 * idempotent, resolve when durable, and reject with a DriverError: retryable after 10 s without an answer.
 * Source: behaviour volumes-storage.md 1.3 to 1.6, 3.
 */

import type { BlockImages } from './block-images.ts'

export interface BlockDisk {
  readonly extId: string
  readonly clusterExtId: string
  readonly containerExtId: string
  readonly volumeGroupExtId: string
  /** LUN of the disk at the target. */
  readonly index: number
  readonly sizeBytes: number
  /** Source of a copy-on-write copy. */
  readonly source?: BlockSource
}

export interface BlockSource {
  readonly kind: 'image' | 'volumeDisk' | 'vmDisk'
  readonly extId: string
}

/** A volume group as consumers see it. */
export interface Target {
  readonly volumeGroupExtId: string
  readonly clusterExtId: string
  readonly name: string
  /** Plain text; if present, initiators must authenticate (CHAP). A backend stores it, or a proof of it. */
  readonly chapSecret?: string
  /** All controllers serve its disks, rather than that of the VM's host. */
  readonly isSpread: boolean
  readonly isFlashPinned: boolean
  readonly isBackupTarget: boolean
}

export interface Initiator {
  readonly clientExtId: string
  /** iSCSI name or NQN. */
  readonly name?: string
  /** Network address or host name; for an initiator without a name. */
  readonly address?: string
  /** Plain text; if present, the target must authenticate too (mutual CHAP). */
  readonly chapSecret?: string
  readonly paths: number
}

export interface ClientSession {
  readonly clientExtId: string
  readonly paths: number
  /** Milliseconds since 1970. */
  readonly since: number
}

export interface DiskUsage {
  /** Includes the bytes of its source. */
  readonly writtenBytes: number
  /** Shared with no other disk. */
  readonly uniqueBytes: number
  /** Milliseconds since 1970; absent: it has always been there. */
  readonly createdAt?: number
}

export interface BlockStorage extends BlockImages {
  /** Creates a thin disk, invisible until `publishDisk`. @throws DriverError, final, when the source does not exist */
  createDisk(disk: BlockDisk): Promise<void>
  publishDisk(diskExtId: string): Promise<void>
  /** A thick disk reserves its whole size; what it holds stays. Absent disks are no fault. */
  provisionDisks(diskExtIds: readonly string[], provisioning: 'thick' | 'thin'): Promise<void>
  /** Ids with sizes in bytes. */
  thickDisksIn(containerExtId: string): ReadonlyMap<string, number>
  resizeDisk(diskExtId: string, sizeBytes: number): Promise<void>
  /** An absent disk is no fault. */
  deleteDisk(diskExtId: string): Promise<void>

  /** Creates or changes the target. A new secret ends its sessions. */
  putTarget(target: Target): Promise<void>
  /** Ends every session; an absent target is no fault. */
  removeTarget(volumeGroupExtId: string): Promise<void>

  /** Adds or changes an access list entry. A new secret ends the initiator's sessions. */
  allow(volumeGroupExtId: string, initiator: Initiator): Promise<void>
  /** Ends the initiator's sessions with this target. */
  deny(volumeGroupExtId: string, clientExtId: string): Promise<void>

  /** Attaches the disks to the SCSI bus of a VM, running or not. */
  plug(volumeGroupExtId: string, vmExtId: string, scsiIndex: number): Promise<void>
  /** `isForced`: the guest did not release the disks within 60 s. */
  unplug(volumeGroupExtId: string, vmExtId: string): Promise<{ readonly isForced: boolean }>

  /** Sessions of external clients with the target that are open now. */
  sessionsOf(volumeGroupExtId: string): readonly ClientSession[]

  /** Absent disks are left out. @param at milliseconds since 1970, default: now; before their creation disks are as then */
  usageOf(diskExtIds: readonly string[], at?: number): Promise<ReadonlyMap<string, DiskUsage>>
}
