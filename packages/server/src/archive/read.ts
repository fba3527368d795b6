/** Source: behaviour platform.md 8 (verification), 9 (restore). */
import { ObjectStoreError } from '../drivers/object-store.ts'
import { unwrapDataKey } from './cipher.ts'
import { type BackupPlace, folderOf, type Manifest, type Section } from './format.ts'
import type { BackupRow } from './rows.ts'
import { damaged, Unpacker } from './unpack.ts'

/**
 * Rows in order, one part in memory at a time; reading to the end verifies all parts. Secrets stay sealed (`reseal.ts`).
 * @throws BackupFault that names the part; ObjectStoreError from the place
 */
export async function* readRestorePoint(
  at: BackupPlace,
  manifest: Manifest,
  backupKey: Buffer,
): AsyncGenerator<{ readonly section: Section; readonly row: BackupRow }> {
  const unpacker = new Unpacker(manifest, unwrapDataKey(backupKey, manifest))
  for await (const content of sealedParts(at, manifest)) yield* unpacker.next(content)
  unpacker.end()
}

export async function* sealedParts({ store, place }: BackupPlace, manifest: Manifest): AsyncGenerator<Uint8Array> {
  const folder = folderOf(manifest.domainManager.extId, manifest.restorePointExtId)
  for (const part of manifest.parts) {
    try {
      yield await store.get(place, `${folder}/${part.name}`)
    } catch (error) {
      if (error instanceof ObjectStoreError && error.fault === 'noSuchObject')
        throw damaged(part, 'it is missing', error)
      throw error
    }
  }
}
