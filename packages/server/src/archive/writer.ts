/** Source: behaviour platform.md 8. */
import { wrapDataKey } from './cipher.ts'
import {
  type BackupPlace,
  completeName,
  folderOf,
  formatVersion,
  type Manifest,
  manifestName,
  type Part,
  sha256,
} from './format.ts'
import type { PackedPart } from './pack.ts'

export interface RestorePointContent
  extends Pick<Manifest, 'restorePointExtId' | 'creationTime' | 'productVersion' | 'domainManager'> {
  readonly backupKey: Buffer
  readonly dataKey: Buffer
  /** From `packParts`; one part is in memory at a time. */
  readonly parts: Iterable<PackedPart> | AsyncIterable<PackedPart>
}

/**
 * Parts, manifest, `COMPLETE`: an interrupted backup is no restore point. @param written called after each part @throws ObjectStoreError
 */
export async function writeRestorePoint(
  { store, place }: BackupPlace,
  content: RestorePointContent,
  written: (part: Part) => Promise<void> | void = () => {},
): Promise<Manifest> {
  const { restorePointExtId, creationTime, productVersion, domainManager, backupKey, dataKey } = content
  const folder = folderOf(domainManager.extId, restorePointExtId)
  const parts: Part[] = []
  for await (const { content: bytes, ...part } of content.parts) {
    await store.put(place, `${folder}/${part.name}`, bytes)
    parts.push(part)
    await written(part)
  }
  const described = { formatVersion, productVersion, restorePointExtId, creationTime, domainManager, parts }
  const manifest: Manifest = { ...described, key: wrapDataKey(backupKey, dataKey, described) }
  const bytes = Buffer.from(JSON.stringify(manifest, undefined, 2))
  await store.put(place, `${folder}/${manifestName}`, bytes)
  await store.put(place, `${folder}/${completeName}`, Buffer.from(sha256(bytes)))
  return manifest
}
