/** Complete restore points of a place, by digests: no key is needed. Source: behaviour platform.md 8, 9. */
import { parseTime } from '../core/time/clock.ts'
import { ObjectStoreError } from '../drivers/object-store.ts'
import {
  BackupFault,
  type BackupPlace,
  completeName,
  folderOf,
  formatVersion,
  type Manifest,
  manifestName,
  partName,
  prefix,
  sha256,
} from './format.ts'

export interface FoundRestorePoints {
  readonly manifests: readonly Manifest[]
  /** A text for each skipped restore point. */
  readonly warnings: readonly string[]
}

/** @param managerExtId default: all managers @returns a warning for each damaged or too new one @throws ObjectStoreError */
export async function findRestorePoints(at: BackupPlace, managerExtId?: string): Promise<FoundRestorePoints> {
  const sizes = await sizesBelow(at, managerExtId === undefined ? prefix : `${prefix}/${managerExtId}`)
  const manifests: Manifest[] = []
  const warnings: string[] = []
  for (const key of sizes.keys()) {
    const [, domainManagerExtId, restorePointExtId, name] = key.split('/')
    // Without COMPLETE the restore point is being written, or its backup was interrupted.
    if (name !== completeName || domainManagerExtId === undefined || restorePointExtId === undefined) continue
    try {
      manifests.push(await readManifest(at, sizes, domainManagerExtId, restorePointExtId))
    } catch (error) {
      if (!(error instanceof BackupFault)) throw error
      warnings.push(`The restore point ${restorePointExtId} was left out: ${error.message}.`)
    }
  }
  manifests.sort((a, b) => (a.creationTime > b.creationTime ? -1 : a.creationTime < b.creationTime ? 1 : 0))
  return { manifests, warnings }
}

/** @throws BackupFault when it is missing or incomplete; ObjectStoreError */
export async function findRestorePoint(
  at: BackupPlace,
  domainManagerExtId: string,
  restorePointExtId: string,
): Promise<Manifest> {
  const folder = folderOf(domainManagerExtId, restorePointExtId)
  const sizes = await sizesBelow(at, folder)
  if (!sizes.has(`${folder}/${completeName}`)) throw new BackupFault('corrupt', `its ${completeName} is missing`)
  return readManifest(at, sizes, domainManagerExtId, restorePointExtId)
}

type Sizes = ReadonlyMap<string, number>

async function sizesBelow({ store, place }: BackupPlace, folder: string): Promise<Sizes> {
  return new Map((await store.list(place, `${folder}/`)).map(({ key, sizeBytes }) => [key, sizeBytes]))
}

async function readManifest(
  at: BackupPlace,
  sizes: Sizes,
  domainManagerExtId: string,
  restorePointExtId: string,
): Promise<Manifest> {
  const folder = folderOf(domainManagerExtId, restorePointExtId)
  const bytes = await contentOf(at, folder, manifestName)
  const complete = Buffer.from(await contentOf(at, folder, completeName))
  if (complete.toString('latin1').trim() !== sha256(bytes))
    throw new BackupFault('corrupt', `its ${manifestName} was changed or is damaged`)
  const manifest = parsed(bytes)
  if (manifest.formatVersion > formatVersion) {
    const versions = `${manifest.formatVersion} is newer than ${formatVersion}, the newest that this version reads`
    throw new BackupFault('newer', `its format ${versions}`)
  }
  if (!hasRequiredFields(manifest) || manifest.restorePointExtId !== restorePointExtId)
    throw new BackupFault('corrupt', `its ${manifestName} lacks required fields`)
  if (manifest.domainManager.extId !== domainManagerExtId)
    throw new BackupFault('corrupt', `its ${manifestName} is that of another manager`)
  const incomplete = manifest.parts.find((part) => sizes.get(`${folder}/${part.name}`) !== part.sizeBytes)
  if (incomplete !== undefined) throw new BackupFault('corrupt', `its part ${incomplete.name} is missing or torn`)
  return manifest
}

/** A listed object may be missing a moment later: restore points are retired while the place is read. */
async function contentOf({ store, place }: BackupPlace, folder: string, name: string): Promise<Uint8Array> {
  try {
    return await store.get(place, `${folder}/${name}`)
  } catch (error) {
    if (!(error instanceof ObjectStoreError) || error.fault !== 'noSuchObject') throw error
    throw new BackupFault('corrupt', `its ${name} is missing`, error)
  }
}

function parsed(bytes: Uint8Array): Manifest {
  try {
    const manifest = JSON.parse(Buffer.from(bytes).toString())
    if (Number.isInteger(manifest?.formatVersion)) return manifest
  } catch {
    // Malformed JSON is refused below.
  }
  throw new BackupFault('corrupt', `its ${manifestName} cannot be read`)
}

/** Only fields that are read before the key proves that the manifest is genuine. */
function hasRequiredFields({ domainManager, creationTime, key, parts, productVersion }: Manifest): boolean {
  return (
    typeof domainManager?.config?.name === 'string' &&
    isObject(domainManager.network) &&
    typeof productVersion === 'string' &&
    typeof creationTime === 'string' &&
    parseTime(creationTime) !== undefined &&
    typeof key?.id === 'string' &&
    typeof key.wrapped === 'string' &&
    Array.isArray(parts) &&
    parts.every((part, index) => part?.name === partName(index) && isObject(part.rows))
  )
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
