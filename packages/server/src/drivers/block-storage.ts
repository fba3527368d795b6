/**
 * Virtual disks of a cluster, and targets that serve them to VMs and external initiators. Changing calls are idempotent, resolve when
 * durable, and reject with a DriverError: retryable after 10 s without an answer. Absent disks and targets are no fault.
 * Source: behaviour volumes-storage.md 1.3 to 1.6, 3.
 */

import type { BlockImages } from './block-images.ts'

export interface BlockDisk {
  readonly extId: string
  readonly clusterExtId: string
  readonly containerExtId: string
  readonly volumeGroupExtId: string
  readonly index: number
  readonly sizeBytes: number
  readonly source?: BlockSource
}

export interface BlockSource {
  readonly kind: 'image' | 'volumeDisk' | 'vmDisk'
  readonly extId: string
}

export interface Target {
  readonly volumeGroupExtId: string
  readonly clusterExtId: string
  readonly name: string
  /** Plain text; if present, initiators must authenticate (CHAP). A backend stores the secret, or a proof of it. */
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
  readonly since: number
}

export interface DiskUsage {
  /** Includes the bytes of its source. */
  readonly writtenBytes: number
  /** Shared with no other disk. */
  readonly uniqueBytes: number
  /** Absent: it has always been there. */
  readonly createdAt?: number
}

export interface BlockStorage extends BlockImages {
  /** Creates a thin disk, invisible until `publishDisk`. @throws DriverError, final, when the source does not exist */
  createDisk(disk: BlockDisk): Promise<void>
  publishDisk(diskExtId: string): Promise<void>
  /** A thick disk reserves its whole size; its contents stay. */
  provisionDisks(diskExtIds: readonly string[], provisioning: 'thick' | 'thin'): Promise<void>
  thickDisksIn(containerExtId: string): ReadonlyMap<string, number>
  resizeDisk(diskExtId: string, sizeBytes: number): Promise<void>
  deleteDisk(diskExtId: string): Promise<void>

  /** Creates or changes the target. A new secret ends its sessions. */
  putTarget(target: Target): Promise<void>
  /** Ends every session. */
  removeTarget(volumeGroupExtId: string): Promise<void>

  /** Adds or changes an access list entry. A new secret ends the initiator's sessions. */
  allow(volumeGroupExtId: string, initiator: Initiator): Promise<void>
  /** Ends the initiator's sessions with this target. */
  deny(volumeGroupExtId: string, clientExtId: string): Promise<void>

  /** Attaches the disks to the SCSI bus of a VM, running or not. */
  plug(volumeGroupExtId: string, vmExtId: string, scsiIndex: number): Promise<void>
  /** `isForced`: the guest did not release the disks within 60 s. */
  unplug(volumeGroupExtId: string, vmExtId: string): Promise<{ readonly isForced: boolean }>

  sessionsOf(volumeGroupExtId: string): readonly ClientSession[]

  /** Absent disks are left out. @param at default: now; before its creation a disk has the usage of that time */
  usageOf(diskExtIds: readonly string[], at?: number): Promise<ReadonlyMap<string, DiskUsage>>
}
