/** Complete backups of one manager at a restore source. Source: behaviour platform.md 9. */
import type { EntityOf } from '@hyperplane/contract'
import { RestorableDomainManager } from '@hyperplane/contract/platform/restorable-domain-manager'
import { RestorePoint, restorePointOperations } from '@hyperplane/contract/platform/restore-point'
import { RestoreSource } from '@hyperplane/contract/platform/restore-source'
import type { Manifest } from '../../archive/format.ts'
import { listOf, notFound } from '../../core/standard.ts'
import { implement, parentOf, type ReadContext } from '../context.ts'
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
      const source = parentOf(ctx, 'restoreSourceExtId', RestoreSource)
      const points = (await pointsOf(ctx, path, source)).map((manifest) => pointOf(manifest, path, showsManager))
      return listOf(points, request)
    },

    async getRestorePointById(ctx, { path }) {
      const source = parentOf(ctx, 'restoreSourceExtId', RestoreSource)
      return pointOf(pointAt(await pointsOf(ctx, path, source), path.extId), path, true)
    },

    async restore(ctx, { body, path, prepared }) {
      return startRestore(ctx, path.restoreSourceExtId, prepared as Manifest, body.domainManager)
    },
  },
  {
    prepare: {
      // Before the transaction: the place may be slow.
      async restore(ctx, { path }) {
        const source = await sourceOf(ctx, path.restoreSourceExtId)
        return pointAt(await pointsOf(ctx, path, source), path.extId)
      },
    },
    tasks: [check, fetchAndCheck, load, restoreManager, switchStores],
  },
)

interface Path {
  readonly restoreSourceExtId: string
  readonly restorableDomainManagerExtId: string
}

async function pointsOf(ctx: ReadContext, path: Path, source: RestoreSource): Promise<readonly Manifest[]> {
  const managerExtId = path.restorableDomainManagerExtId
  const points = (await restorePointsOf(ctx, source)).filter(
    ({ domainManager }) => domainManager.extId === managerExtId,
  )
  if (points.length > 0) return points
  throw notFound(RestorableDomainManager, managerExtId, 'restorableDomainManagerExtId')
}

function pointAt(points: readonly Manifest[], extId: string): Manifest {
  const found = points.find(({ restorePointExtId }) => restorePointExtId === extId)
  if (found === undefined) throw notFound(RestorePoint, extId, 'extId')
  return found
}

function pointOf(manifest: Manifest, path: Path, showsManager: boolean): Point {
  const { restorePointExtId: extId, creationTime, domainManager } = manifest
  const parent = `/platform/v4.3/management/restore-sources/${path.restoreSourceExtId}/restorable-domain-managers/${domainManager.extId}`
  return {
    extId,
    creationTime,
    ...(domainManager.tenantId === undefined ? {} : { tenantId: domainManager.tenantId }),
    links: [{ href: `${parent}/restore-points/${extId}`, rel: 'self' }],
    ...(showsManager ? { domainManager } : {}),
  }
}
