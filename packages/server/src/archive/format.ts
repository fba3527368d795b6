/**
 * How a backup lies at its place, and what it means. Everything that reads or writes backups goes through this folder.
 *
 * ```
 * hyperplane-backups/<manager>/<restore point>/part-00001 … part-NNNNN   sealed content, in order
 *                                             /manifest.json             what the parts are
 *                                             /COMPLETE                  SHA-256 of the manifest, written last
 * ```
 *
 * - **Content** (`rows.ts`): rows of all kinds as lines of JSON, not pages of a database: any store can load them. Two
 *   sections, one after the other, a new part for each: `manager`, what the control plane owns, and `world`, the facts of
 *   the simulated infrastructure (absent with real drivers). Secrets inside are sealed with a key of this restore point
 *   (`reseal.ts`), so that an instance with another master key can take them over.
 * - **Parts** (`pack.ts`, `unpack.ts`): the lines of a section are one stream of bytes, cut at `plainPartBytes` wherever
 *   that falls; each piece is compressed (zstd) and sealed (AES-256-GCM) on its own. One part is in memory at a time.
 * - **Keys** (`cipher.ts`): a random data key a restore point; the nonce of a part is random, and its additional data are
 *   the restore point and the number of the part. The data key is wrapped by the backup key, with the digest of the whole
 *   manifest as additional data: a manifest that was changed, or that lost parts, does not open, whoever computed its
 *   `COMPLETE` anew.
 * - **Writing** (`writer.ts`): parts, manifest, `COMPLETE`, in this order. Object stores have no transaction: without
 *   `COMPLETE` it is no restore point, and what a crash leaves harms none.
 * - **Reading**: `findRestorePoints` (`reader.ts`) trusts digests only and needs no key; `readRestorePoint` (`read.ts`) gives
 *   the rows in order and checks everything on the way, so that verifying is reading to the end.
 *
 * Source: behaviour platform.md 8.
 */
import { createHash } from 'node:crypto'
import type { EntityOf } from '@hyperplane/contract'
import type { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import type { ObjectStore, Place } from '../drivers/object-store.ts'

/** Newest format that this version writes and reads. */
export const formatVersion = 1

/** Below it lie the backups of all managers. */
export const prefix = 'hyperplane-backups'

/** No part is larger, sealed. */
export const maximumPartBytes = 8 * 1024 * 1024

/** Plain bytes of a part, at most: far below the limit, because several copies are in memory while a part is made or read. */
export const plainPartBytes = 2 * 1024 * 1024

export type Section = 'manager' | 'world'

export interface Part {
  readonly name: string
  readonly section: Section
  /** Of the sealed bytes. */
  readonly sizeBytes: number
  /** Of the sealed bytes, in hex. */
  readonly sha256: string
  /** Kind -> rows whose end lies in this part. */
  readonly rows: Readonly<Record<string, number>>
}

export interface Manifest {
  readonly formatVersion: number
  readonly productVersion: string
  readonly restorePointExtId: string
  /** Time of the snapshot: what was committed by then is in it. */
  readonly creationTime: string
  /** The manager as it was, without secrets. */
  readonly domainManager: EntityOf<typeof DomainManager>
  readonly key: {
    /** Names the backup key without telling it. */
    readonly id: string
    /** The data key of this restore point, wrapped by the backup key. */
    readonly wrapped: string
  }
  readonly parts: readonly Part[]
}

/** A place, opened for backups. */
export interface BackupPlace {
  readonly store: ObjectStore
  readonly place: Place
}

/** A backup that cannot be used. The message names what is wrong with it, and tells nothing of its content. */
export class BackupFault extends Error {
  readonly fault: 'corrupt' | 'keyMismatch' | 'newer'
  /** All that is wrong with it, where more than one thing was looked for; the message tells the first. */
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
