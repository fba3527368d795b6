/** After a new backup: a cluster keeps the newest restore point, a bucket all good ones, by its own rules. Source: platform.md 7, 8. */

import {
  BackupFault,
  type BackupPlace,
  completeName,
  folderOf,
  type Manifest,
  prefix,
} from '../../../archive/format.ts'
import { sealedParts } from '../../../archive/read.ts'
import { findRestorePoints } from '../../../archive/reader.ts'
import { parseTime } from '../../../core/time/clock.ts'
import type { StepContext } from '../../context.ts'
import { removeCopy, reportingOutage } from './copy.ts'
import { placeOfTarget } from './target-place.ts'
import type { Target } from './target-rules.ts'

const day = 24 * 3600 * 1000
/** Older restore points that are read back per day: a bucket may hold any number of them. */
const checksPerDay = 24

export interface Retired {
  readonly removed: readonly { readonly restorePointExtId: string; readonly fault: string }[]
  /** Written with another backup key. */
  readonly foreign: number
}

const nothing: Retired = { removed: [], foreign: 0 }

export const isCheckDue = ({ lastCheckTime }: Target, now: number): boolean =>
  lastCheckTime === undefined || (parseTime(lastCheckTime) ?? now) + day <= now

export async function retire(
  ctx: StepContext,
  target: Target,
  newest: Manifest,
  isCheckDue: boolean,
): Promise<Retired> {
  const at = placeOfTarget(ctx, target)
  const managerExtId = newest.domainManager.extId
  const now = ctx.clock.now()
  return reportingOutage(at, async () => {
    for (const extId of target.leftovers ?? []) await removeCopy(at, managerExtId, extId)
    if ('config' in target.location) {
      for (const [extId] of await foldersOf(at, managerExtId))
        if (extId !== newest.restorePointExtId) await removeCopy(at, managerExtId, extId)
      return nothing
    }
    for (const [extId, folder] of await foldersOf(at, managerExtId))
      if (!folder.isComplete && folder.lastWrite + day <= now) await removeCopy(at, managerExtId, extId)
    return isCheckDue ? await removeDamaged(ctx, at, newest, Math.floor(now / day)) : nothing
  })
}

interface Folder {
  readonly isComplete: boolean
  readonly lastWrite: number
}

async function foldersOf({ store, place }: BackupPlace, managerExtId: string): Promise<ReadonlyMap<string, Folder>> {
  const folders = new Map<string, Folder>()
  for (const { key, modifiedTime } of await store.list(place, `${prefix}/${managerExtId}/`)) {
    const [, , extId, name] = key.split('/')
    if (extId === undefined || name === undefined || !key.startsWith(folderOf(managerExtId, extId))) continue
    const folder = folders.get(extId)
    folders.set(extId, {
      isComplete: folder?.isComplete === true || name === completeName,
      lastWrite: Math.max(folder?.lastWrite ?? 0, modifiedTime),
    })
  }
  return folders
}

async function removeDamaged(ctx: StepContext, at: BackupPlace, newest: Manifest, today: number): Promise<Retired> {
  const managerExtId = newest.domainManager.extId
  const older = (await findRestorePoints(at, managerExtId)).manifests.filter(
    ({ restorePointExtId }) => restorePointExtId !== newest.restorePointExtId,
  )
  const own = older.filter(({ key }) => key.id === newest.key.id)
  const rounds = Math.ceil(own.length / checksPerDay)
  const removed = []
  for (const manifest of own.filter(
    ({ restorePointExtId }) => checkDayOf(restorePointExtId, rounds) === today % rounds,
  )) {
    const { restorePointExtId } = manifest
    try {
      await ctx.services.snapshots.check(manifest, sealedParts(at, manifest), ctx.stopping)
    } catch (error) {
      if (!(error instanceof BackupFault)) throw error
      await removeCopy(at, managerExtId, restorePointExtId)
      removed.push({ restorePointExtId, fault: error.message })
    }
  }
  return { removed, foreign: older.length - own.length }
}

/** Day, modulo `rounds`, of the check. Random ids spread the work evenly. */
const checkDayOf = (restorePointExtId: string, rounds: number): number =>
  Number.parseInt(restorePointExtId.slice(0, 8), 16) % rounds
