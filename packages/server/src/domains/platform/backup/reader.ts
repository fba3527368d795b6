/** Finds the complete restore points of a place. Source: behaviour platform.md 8, 9. */
import { parseTime } from '../../../core/clock.ts'
import type { StoredObject } from '../../../drivers/object-store.ts'
import {
  type BackupPlace,
  completeName,
  folderOf,
  formatVersion,
  type Manifest,
  manifestName,
  prefix,
  sha256,
} from './format.ts'

export interface FoundRestorePoints {
  /** Newest first. */
  readonly manifests: readonly Manifest[]
  /** One for each that was left out. */
  readonly warnings: readonly string[]
}

/** @throws ObjectStoreError from the place; a damaged or newer restore point is left out with a warning instead */
export async function findRestorePoints(at: BackupPlace): Promise<FoundRestorePoints> {
  const sizes = new Map(
    (await at.store.list(at.place, `${prefix}/`)).map((object: StoredObject) => [object.key, object.sizeBytes]),
  )
  const manifests: Manifest[] = []
  const warnings: string[] = []
  for (const key of sizes.keys()) {
    const [, domainManagerExtId, restorePointExtId, name] = key.split('/')
    // Without COMPLETE it is not a restore point: it is being written, or was given up.
    if (name !== completeName || domainManagerExtId === undefined || restorePointExtId === undefined) continue
    const folder = folderOf(domainManagerExtId, restorePointExtId)
    const found = sizes.has(`${folder}/${manifestName}`) ? await readManifest(at, folder) : 'it has no manifest'
    const fault =
      typeof found === 'string' ? found : faultOf(found, domainManagerExtId, restorePointExtId, sizes, folder)
    if (fault === undefined) manifests.push(found as Manifest)
    else warnings.push(`The restore point ${restorePointExtId} was left out: ${fault}.`)
  }
  manifests.sort((a, b) => (a.creationTime > b.creationTime ? -1 : a.creationTime < b.creationTime ? 1 : 0))
  return { manifests, warnings }
}

async function readManifest({ store, place }: BackupPlace, folder: string): Promise<Manifest | string> {
  const bytes = await store.get(place, `${folder}/${manifestName}`)
  const complete = Buffer.from(await store.get(place, `${folder}/${completeName}`))
    .toString('latin1')
    .trim()
  if (complete !== sha256(bytes)) return 'its manifest was changed or is damaged'
  try {
    return JSON.parse(Buffer.from(bytes).toString())
  } catch {
    return 'its manifest cannot be read'
  }
}

function faultOf(
  manifest: Manifest,
  domainManagerExtId: string,
  restorePointExtId: string,
  sizes: ReadonlyMap<string, number>,
  folder: string,
): string | undefined {
  if (!Number.isInteger(manifest?.formatVersion)) return 'its manifest cannot be read'
  if (manifest.formatVersion > formatVersion)
    return `its format ${manifest.formatVersion} is newer than ${formatVersion}, the newest that this version reads`
  const { domainManager, parts } = manifest
  const isWhole =
    domainManager?.extId === domainManagerExtId &&
    manifest.restorePointExtId === restorePointExtId &&
    typeof domainManager.config?.name === 'string' &&
    typeof domainManager.network === 'object' &&
    typeof manifest.creationTime === 'string' &&
    parseTime(manifest.creationTime) !== undefined &&
    Array.isArray(parts)
  if (!isWhole) return 'its manifest lacks what a manifest must say'
  const torn = parts.find((part) => sizes.get(`${folder}/${part.name}`) !== part.sizeBytes)
  return torn === undefined ? undefined : `its part ${torn.name} is missing or torn`
}
