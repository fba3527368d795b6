/** Accepts a restore: requested by a person, on a fresh instance, one at a time. Source: behaviour platform.md 9. */
import { RestoreSource } from '@hyperplane/contract/platform/restore-source'
import { Task } from '@hyperplane/contract/platform/task'
import type { Manifest } from '../../../archive/format.ts'
import { ApiError, invalid } from '../../../core/api-error.ts'
import { pathOf, rowWithId } from '../../../core/standard.ts'
import { unfinished } from '../../../core/tasks/runner.ts'
import { and, anyOf, equals } from '../../../odata/index.ts'
import type { Reader } from '../../../store/store.ts'
import type { ReadContext, WriteContext } from '../../context.ts'
import { refuseApiKey } from '../restore-source.ts'
import type { GivenManager } from './adjust.ts'
import { requireFresh } from './fresh.ts'
import { restoreManager } from './task.ts'

const operation = 'kPcRecovery'

export async function startRestore(
  ctx: WriteContext,
  sourceExtId: string,
  { domainManager, restorePointExtId }: Manifest,
  given: GivenManager,
): Promise<{ readonly extId: string }> {
  refuseApiKey(ctx)
  if (given.config.buildInfo.version === undefined)
    throw invalid('domainManager/config/buildInfo/version', 'is required')
  await refuseSecond(ctx.store)
  await requireFresh(ctx.store)
  const { extId: managerExtId, hostingClusterExtId } = domainManager
  const { name } = given.config
  const input = { sourceExtId, managerExtId, restorePointExtId, given }
  return ctx.startTask(restoreManager, input, {
    operation,
    description: 'Restore Domain Manager',
    affected: [
      { extId: managerExtId, name, rel: 'platform:config:domain_manager' },
      ...(hostingClusterExtId === undefined ? [] : [{ extId: hostingClusterExtId, rel: 'clustermgmt:config:cluster' }]),
    ],
    locks: ['restore'],
  })
}

async function refuseSecond(store: Reader): Promise<void> {
  const filter = and(equals(pathOf(Task, 'operation'), operation), anyOf(pathOf(Task, 'status'), unfinished))
  const [running] = await store.find(Task, { filter, limit: 1 })
  if (running === undefined) return
  throw new ApiError('ENTITY_BUSY', { kind: 'instance', name: 'restore', taskExtId: running.extId })
}

/** For `prepare`, which runs before the pipeline resolves the path. @throws ApiError 404 */
export async function sourceOf(ctx: ReadContext, extId: string) {
  return rowWithId(ctx.store, RestoreSource, extId, 'restoreSourceExtId')
}
