/**
 * How a backup lies at its place: `<prefix>/<manager>/<restore point>/`, with a manifest, encrypted parts, and `COMPLETE`
 * written last. Source: behaviour platform.md 8.
 */
import { createHash } from 'node:crypto'
import type { EntityOf } from '@hyperplane/contract'
import type { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import type { ObjectStore, Place } from '../../../drivers/object-store.ts'

/** Newest format that this version writes and reads. */
export const formatVersion = 1

/** Below it lie the backups of all managers. */
export const prefix = 'hyperplane-backups'

export const maximumPartBytes = 8 * 1024 * 1024

export interface Part {
  readonly name: string
  readonly sizeBytes: number
  /** Of the encrypted bytes, in hex. */
  readonly sha256: string
  /** Kind -> rows of it in this part. */
  readonly rows: Readonly<Record<string, number>>
}

export interface Manifest {
  readonly formatVersion: number
  readonly productVersion: string
  readonly restorePointExtId: string
  /** Time of the snapshot. */
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

export const folderOf = (domainManagerExtId: string, restorePointExtId: string): string =>
  `${prefix}/${domainManagerExtId}/${restorePointExtId}`
export const manifestName = 'manifest.json'
export const completeName = 'COMPLETE'
export const partName = (index: number): string => `part-${String(index + 1).padStart(5, '0')}`
export const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex')
