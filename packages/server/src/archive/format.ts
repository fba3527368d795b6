/**
 * The format of a backup in its location. Only the files of this folder read or write backups.
 *
 * ```
 * hyperplane-backups/<manager>/<restore point>/part-00001 … part-NNNNN   sealed content, in order
 *                                             /manifest.json             description of the parts
 *                                             /COMPLETE                  SHA-256 of the manifest, written last
 * ```
 *
 * - **Content** (`rows.ts`): rows of all kinds as lines of JSON, which any store can load, unlike database pages. The section `manager`
 *   has the rows of the control plane; `world`, in parts of its own, the facts of the simulated infrastructure (absent with real drivers).
 *   Secrets are sealed with a key of the restore point (`reseal.ts`), so that an instance with another master key can restore them.
 * - **Parts** (`pack.ts`, `unpack.ts`): the lines of a section are one stream, cut every `plainPartBytes`, also inside a line. Each part
 *   is compressed (zstd) and sealed (AES-256-GCM) separately; one part is in memory at a time.
 * - **Keys** (`cipher.ts`): the backup key wraps the random data key of a restore point, with the digest of the manifest as additional
 *   data: a changed manifest does not open, even if its `COMPLETE` was recomputed.
 * - **Writing** (`writer.ts`): parts, manifest, `COMPLETE`, in this order. Object stores have no transactions: without `COMPLETE` there is
 *   no restore point, and files of an interrupted backup harm no other.
 * - **Reading**: `findRestorePoints` (`reader.ts`) checks digests without a key; `readRestorePoint` (`read.ts`) verifies all rows in order.
 *
 * Source: behaviour platform.md 8.
 */
import { createHash } from 'node:crypto'
import type { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import type { ObjectStore, Place } from '../drivers/object-store.ts'

export const formatVersion = 1

export const prefix = 'hyperplane-backups'

export const maximumPartBytes = 8 * 1024 * 1024

/** Far below the limit: packing and unpacking hold several copies in memory. */
export const plainPartBytes = 2 * 1024 * 1024

export type Section = 'manager' | 'world'

export interface Part {
  readonly name: string
  readonly section: Section
  readonly sizeBytes: number
  readonly sha256: string
  /** Rows that end in this part, by kind. */
  readonly rows: Readonly<Record<string, number>>
}

export interface Manifest {
  readonly formatVersion: number
  readonly productVersion: string
  readonly restorePointExtId: string
  /** Time of the snapshot, which contains everything committed before. */
  readonly creationTime: string
  readonly domainManager: DomainManager
  readonly key: {
    /** Identifies the backup key without revealing it. */
    readonly id: string
    readonly wrapped: string
  }
  readonly parts: readonly Part[]
}

export interface BackupPlace {
  readonly store: ObjectStore
  readonly place: Place
}

/** The message names the fault and reveals nothing of the content. */
export class BackupFault extends Error {
  readonly fault: 'corrupt' | 'keyMismatch' | 'newer'
  /** The message contains the first one. */
  readonly faults: readonly string[]
  constructor(fault: BackupFault['fault'], message: string, cause?: unknown, faults: readonly string[] = [message]) {
    super(message, { cause })
    this.fault = fault
    this.faults = faults
  }
}

export const folderOf = (domainManagerExtId: string, restorePointExtId: string): string =>
  `${prefix}/${domainManagerExtId}/${restorePointExtId}`
export const manifestName = 'manifest.json'
export const completeName = 'COMPLETE'
export const partName = (index: number): string => `part-${String(index + 1).padStart(5, '0')}`
export const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex')
