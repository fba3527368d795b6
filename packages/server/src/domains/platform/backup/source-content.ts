/** Reads the restore points at the place of a restore source. Source: behaviour platform.md 9. */

import { RestoreSource } from '@hyperplane/contract/platform/restore-source'
import type { Manifest } from '../../../archive/format.ts'
import { placeOf, translatePlaceFault } from '../../../archive/places.ts'
import { type FoundRestorePoints, findRestorePoints } from '../../../archive/reader.ts'
import { notFound } from '../../../core/standard.ts'
import type { Services } from '../../../core/world.ts'
import type { ReadContext } from '../../context.ts'
import { isExpired, refuseApiKey } from '../restore-source.ts'

const cacheMilliseconds = 30_000
/** By restore source, so that a client that pages does not list the whole place for each page. */
const cachedAnswers = new WeakMap<
  Services,
  Map<string, { readonly until: number; readonly found: FoundRestorePoints }>
>()

/** Newest first; on a cluster only the newest of each manager. Records a use of the source. @throws ApiError 404, 400 */
export async function restorePointsOf(ctx: ReadContext, source: RestoreSource): Promise<readonly Manifest[]> {
  refuseApiKey(ctx)
  const now = ctx.clock.now()
  if (isExpired(source, now)) throw notFound(RestoreSource, source.extId, 'restoreSourceExtId')
  ctx.noteUse(async (store) => {
    if (!(await store.has(RestoreSource, source.extId))) return
    await store.observe(RestoreSource, source.extId, { lastUsedTime: ctx.clock.iso() })
  })
  const { manifests, warnings } = await read(ctx, source, now)
  for (const warning of warnings) ctx.warn(warning)
  if (!('config' in source.location)) return manifests
  const newest = new Map<string, Manifest>()
  for (const manifest of manifests)
    if (!newest.has(manifest.domainManager.extId)) newest.set(manifest.domainManager.extId, manifest)
  return [...newest.values()]
}

async function read(ctx: ReadContext, source: RestoreSource, now: number): Promise<FoundRestorePoints> {
  let answers = cachedAnswers.get(ctx.services)
  if (answers === undefined) cachedAnswers.set(ctx.services, (answers = new Map()))
  for (const [extId, answer] of answers) if (answer.until <= now) answers.delete(extId)
  const cached = answers.get(source.extId)
  if (cached !== undefined) return cached.found
  const place = placeOf('RestoreSource', source, ctx.secrets)
  try {
    const found = await findRestorePoints({ store: ctx.drivers.objectStore, place })
    answers.set(source.extId, { until: now + cacheMilliseconds, found })
    return found
  } catch (error) {
    throw translatePlaceFault(error, place)
  }
}
