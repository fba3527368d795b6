/** Source: behaviour platform.md 0 (DM-30031 to -33), 9. */

import { ApiError } from '../core/api-error.ts'
import type { Services } from '../core/world.ts'
import { BackupFault, type Manifest, plainPartBytes } from './format.ts'

/** Bytes of a store for each plain byte of a backup: documents, columns, indexes, and the log during the restore. */
const growth = 4

/** @throws ApiError when a later version wrote the backup, or the disk has too little space */
export async function requireReadable(
  { restores, version }: Pick<Services, 'restores' | 'version'>,
  { parts, productVersion }: Manifest,
): Promise<void> {
  if (isNewer(productVersion, version))
    throw new ApiError('BACKUP_VERSION_UNSUPPORTED', { version: productVersion, productVersion: version })
  const [free, needed] = [await restores.freeBytes(), parts.length * plainPartBytes * growth]
  if (free < needed) {
    const shortfall = `where it is restored are ${free} bytes free, ${needed} may be needed`
    throw new ApiError('BACKUP_SPACE_EXHAUSTED', { shortfall })
  }
}

/** Returns errors other than BackupFault unchanged. */
export function archiveRefusal(error: unknown): unknown {
  if (!(error instanceof BackupFault)) return error
  const options = { cause: error }
  if (error.fault === 'keyMismatch') return new ApiError('BACKUP_KEY_MISMATCH', {}, options)
  return new ApiError('BACKUP_CORRUPT', { part: error.message }, options)
}

function isNewer(version: string, own: string): boolean {
  const [a, b] = [version, own].map((each) => each.split(/[.-]/).map(Number)) as [number[], number[]]
  for (let index = 0; index < 3; index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return false
}
