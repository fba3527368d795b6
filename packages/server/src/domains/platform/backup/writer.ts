/** Writes one restore point. Source: behaviour platform.md 8. */
import { aboutKey, aboutPart, encrypt, keyIdOf, newDataKey } from './cipher.ts'
import {
  type BackupPlace,
  completeName,
  folderOf,
  formatVersion,
  type Manifest,
  manifestName,
  maximumPartBytes,
  type Part,
  partName,
  sha256,
} from './format.ts'

export interface PlainPart {
  readonly content: Uint8Array
  /** Kind -> rows of it in this part. */
  readonly rows: Readonly<Record<string, number>>
}

export interface RestorePointContent
  extends Pick<Manifest, 'restorePointExtId' | 'creationTime' | 'productVersion' | 'domainManager'> {
  /** 32 bytes. */
  readonly backupKey: Buffer
  /** One is held in memory at a time. */
  readonly parts: Iterable<PlainPart> | AsyncIterable<PlainPart>
}

/**
 * Parts first, then the manifest, `COMPLETE` last: what was cut short is no restore point.
 * @throws ObjectStoreError from the place; what was written by then stays, without `COMPLETE`
 */
export async function writeRestorePoint(
  { store, place }: BackupPlace,
  content: RestorePointContent,
): Promise<Manifest> {
  const { restorePointExtId, creationTime, productVersion, domainManager, backupKey } = content
  const folder = folderOf(domainManager.extId, restorePointExtId)
  const dataKey = newDataKey()
  const parts: Part[] = []
  for await (const part of content.parts) {
    const index = parts.length
    const sealed = encrypt(dataKey, part.content, aboutPart(restorePointExtId, index))
    if (sealed.byteLength > maximumPartBytes)
      throw new Error(`part ${index + 1} has ${sealed.byteLength} bytes, more than ${maximumPartBytes}`)
    const name = partName(index)
    await store.put(place, `${folder}/${name}`, sealed)
    parts.push({ name, sizeBytes: sealed.byteLength, sha256: sha256(sealed), rows: part.rows })
  }
  const wrapped = encrypt(backupKey, dataKey, aboutKey(restorePointExtId)).toString('base64')
  const manifest: Manifest = {
    formatVersion,
    productVersion,
    restorePointExtId,
    creationTime,
    domainManager,
    key: { id: keyIdOf(backupKey), wrapped },
    parts,
  }
  const bytes = Buffer.from(JSON.stringify(manifest, undefined, 2))
  await store.put(place, `${folder}/${manifestName}`, bytes)
  await store.put(place, `${folder}/${completeName}`, Buffer.from(sha256(bytes)))
  return manifest
}
