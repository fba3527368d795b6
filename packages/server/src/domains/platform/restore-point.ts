/** Complete backups of one manager at a restore source. Source: behaviour platform.md 9. */
import type { EntityOf } from '@hyperplane/contract'
import { RestorableDomainManager } from '@hyperplane/contract/platform/restorable-domain-manager'
import { RestorePoint, restorePointOperations } from '@hyperplane/contract/platform/restore-point'
import type { RestoreSource } from '@hyperplane/contract/platform/restore-source'
import type { Manifest } from '../../archive/format.ts'
import { listOf, notFound } from '../../core/standard.ts'
import { implement, type ReadContext } from '../context.ts'
import { restorePointsOf } from './backup/source-content.ts'
import { sourceOf, startRestore } from './restore/accept.ts'
import { check, fetchAndCheck, load, switchStores } from './restore/parts.ts'
import { restoreManager } from './restore/task.ts'

type Point = EntityOf<typeof RestorePoint>

export const restorePoint = implement(
  restorePointOperations,
  {
    async listRestorePoints(ctx, request) {
      const { path, query } = request
      const selected = query.select?.fields
      const showsManager = selected === 'all' || selected?.has('domainManager') === true
      const points = (await pointsOf(ctx, path)).map((manifest) => pointOf(manifest, path, showsManager))
      return listOf(points, request)
    },

    async getRestorePointById(ctx, { path }) {
      return pointOf(pointAt(await pointsOf(ctx, path), path), path, true)
    },

    async restore(ctx, { body, path, prepared }) {
      return startRestore(ctx, path['restoreSourceExtId'] as string, prepared as Manifest, body.domainManager)
    },
  },
  {
    prepare: {
      // The place is asked before the transaction: it may take long to answer.
      async restore(ctx, { path }) {
        const source = await sourceOf(ctx, path['restoreSourceExtId'] as string)
        return pointAt(await pointsOf(ctx, path, source), path)
      },
    },
    tasks: [check, fetchAndCheck, load, restoreManager, switchStores],
  },
)

type Path = Readonly<Record<string, string>>

/** @throws ApiError 404 for a manager without any */
async function pointsOf(
  ctx: ReadContext,
  path: Path,
  source?: EntityOf<typeof RestoreSource>,
): Promise<readonly Manifest[]> {
  const managerExtId = path['restorableDomainManagerExtId'] as string
  const points = (await restorePointsOf(ctx, source)).filter(
    ({ domainManager }) => domainManager.extId === managerExtId,
  )
  if (points.length > 0) return points
  throw notFound(RestorableDomainManager, 'RestorableDomainManager', managerExtId, 'restorableDomainManagerExtId')
}

function pointAt(points: readonly Manifest[], path: Path): Manifest {
  const found = points.find(({ restorePointExtId }) => restorePointExtId === path['extId'])
  if (found === undefined) throw notFound(RestorePoint, 'RestorePoint', path['extId'] as string, 'extId')
  return found
}

function pointOf(manifest: Manifest, path: Path, showsManager: boolean): Point {
  const { restorePointExtId: extId, creationTime, domainManager } = manifest
  const parent = `/platform/v4.3/management/restore-sources/${path['restoreSourceExtId']}/restorable-domain-managers/${domainManager.extId}`
  return {
    extId,
    creationTime,
    ...(domainManager.tenantId === undefined ? {} : { tenantId: domainManager.tenantId }),
    links: [{ href: `${parent}/restore-points/${extId}`, rel: 'self' }],
    ...(showsManager ? { domainManager } : {}),
  }
}
