/** Writes, reads back and removes one backup at a place (bucket or cluster). Source: behaviour platform.md 7, 8. */

import { isDeepStrictEqual } from 'node:util'
import type { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { newDataKey } from '../../../archive/cipher.ts'
import {
  BackupFault,
  type BackupPlace,
  completeName,
  folderOf,
  type Manifest,
  prefix,
} from '../../../archive/format.ts'
import { translateForTask } from '../../../archive/places.ts'
import { sealedParts } from '../../../archive/read.ts'
import { findRestorePoint } from '../../../archive/reader.ts'
import { writeRestorePoint } from '../../../archive/writer.ts'
import { ApiError } from '../../../core/api-error.ts'
import type { Services } from '../../../core/world.ts'
import { ObjectStoreError } from '../../../drivers/object-store.ts'

type Machinery = Pick<Services, 'snapshots' | 'version'>

export interface Copying {
  readonly at: BackupPlace
  readonly restorePointExtId: string
  readonly manager: DomainManager
  readonly creationTime: string
  readonly stopping: AbortSignal
  readonly written: (parts: number) => Promise<void>
}

export const sizeOfBackup = ({ parts }: Manifest): number => parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)

/** Removes what an earlier attempt may have left, then writes the encrypted snapshot. */
export async function writeCopy({ snapshots, version }: Machinery, copying: Copying): Promise<Manifest> {
  const { at, restorePointExtId, manager, creationTime, stopping, written } = copying
  const dataKey = newDataKey()
  return reportingOutage(at, async () => {
    await removeCopy(at, manager.extId, restorePointExtId)
    let parts = 0
    return writeRestorePoint(
      at,
      {
        restorePointExtId,
        creationTime,
        productVersion: version,
        domainManager: withoutSecrets(manager),
        backupKey: snapshots.backupKey,
        dataKey,
        parts: snapshots.take(restorePointExtId, dataKey, stopping),
      },
      () => written(++parts),
    )
  })
}

/** Checks files, sizes, digests, encryption and the rows of every part. @throws ApiError BACKUP_VERIFICATION_FAILED */
export async function verifyCopy(
  { snapshots }: Pick<Services, 'snapshots'>,
  at: BackupPlace,
  managerExtId: string,
  restorePointExtId: string,
  stopping: AbortSignal,
  expected?: Manifest,
): Promise<void> {
  return reportingOutage(at, () =>
    verified(async () => {
      const manifest = await findRestorePoint(at, managerExtId, restorePointExtId)
      if (expected !== undefined && !isDeepStrictEqual(manifest, JSON.parse(JSON.stringify(expected))))
        throw new BackupFault('corrupt', 'its manifest.json is not the one that was written')
      await snapshots.check(manifest, sealedParts(at, manifest), stopping)
    }),
  )
}

/** A fault must be found while older backups still exist. @throws as `verifyCopy` */
export const rehearseRestore = (
  { snapshots }: Pick<Services, 'snapshots'>,
  at: BackupPlace,
  manifest: Manifest,
  stopping: AbortSignal,
): Promise<void> =>
  reportingOutage(at, () => verified(() => snapshots.rehearse(manifest, sealedParts(at, manifest), stopping)))

async function verified(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof BackupFault)) throw error
    throw new ApiError('BACKUP_VERIFICATION_FAILED', { part: error.message }, { cause: error })
  }
}

/** `COMPLETE` first: without it a partly removed copy does not count as a restore point. */
export async function removeCopy(at: BackupPlace, managerExtId: string, restorePointExtId: string): Promise<void> {
  const { store, place } = at
  const folder = `${folderOf(managerExtId, restorePointExtId)}/`
  const keys = (await store.list(place, folder)).map(({ key }) => key)
  const order = (key: string): number => (key.endsWith(`/${completeName}`) ? 0 : 1)
  for (const key of keys.sort((a, b) => order(a) - order(b))) await store.remove(place, key)
}

/** If the place does not answer, a later run cleans up. @returns whether the copy is gone */
export async function removeIfPossible(at: BackupPlace, managerExtId: string, extId: string): Promise<boolean> {
  try {
    await removeCopy(at, managerExtId, extId)
    return true
  } catch (error) {
    if (error instanceof ObjectStoreError) return false
    throw error
  }
}

/** Stores, lists, returns and deletes an object. @throws ApiError with the refusal of the place */
export async function probe(at: BackupPlace, managerExtId: string, taskExtId: string): Promise<void> {
  const { store, place } = at
  const key = `${prefix}/${managerExtId}/probe-${taskExtId}`
  const content = Buffer.from(`A probe of task ${taskExtId}; it may be removed.\n`)
  await reportingOutage(at, async () => {
    await store.put(place, key, content)
    try {
      const found = await store.list(place, key)
      const isWhole = found.length === 1 && content.equals(await store.get(place, key))
      if (!isWhole)
        throw new ApiError('BACKUP_VERIFICATION_FAILED', { part: 'the probe came back changed, or not at all' })
    } finally {
      await store.remove(place, key)
    }
  })
}

export async function reportingOutage<T>({ place }: BackupPlace, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw translateForTask(error, place)
  }
}

function withoutSecrets(manager: DomainManager): DomainManager {
  return JSON.parse(JSON.stringify(manager, (name, value) => (isSecret(name, value) ? undefined : value)))
}

const isSecret = (name: string, value: unknown): boolean =>
  /password|credential|secret|key$/i.test(name) || (typeof value === 'object' && value !== null && '$sealed' in value)
