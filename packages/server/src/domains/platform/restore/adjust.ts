/** Adjusts a restored store: manager, paused targets, interrupted tasks. Source: behaviour platform.md 9. */
import { isDeepStrictEqual } from 'node:util'
import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import type { restorePointOperations } from '@hyperplane/contract/platform/restore-point'
import { Task } from '@hyperplane/contract/platform/task'
import { ApiError } from '../../../core/api-error.ts'
import { pathOf } from '../../../core/standard.ts'
import { interruptedTask, unfinished } from '../../../core/tasks/runner.ts'
import { anyOf } from '../../../odata/index.ts'
import type { Store, Transaction } from '../../../store/store.ts'
import { backupTarget } from '../backup-target.ts'
import { type Manager, ownManager } from '../own-manager.ts'

export type GivenManager = NonNullable<(typeof restorePointOperations)['restore']['types']>['body']['domainManager']

export const pauseReason = 'restored; resume by update'

/** These interrupted tasks are not rolled back: the rollback could remove the backup that is being restored. */
const endWhereTheyAre = new Set(backupTarget.tasks.map(({ name }) => name))

/** Omitted fields of `given` keep the values of the restore point. */
export function adjust(second: Store, given: GivenManager | undefined, now: string): Promise<void> {
  return second.transaction(async (transaction) => {
    if (given !== undefined) await describeManager(transaction, given)
    await pauseTargets(transaction)
    await interruptTasks(transaction, now)
  })
}

async function describeManager(store: Transaction, given: GivenManager): Promise<void> {
  const { extId, config, network } = await ownManager(store)
  const { size: _, buildInfo: __, ...named } = given.config
  const changed = { config: { ...config, ...named }, network: { ...network, ...given.network } }
  if (isDeepStrictEqual(changed, { config, network })) return
  await store.update(DomainManager, extId, changed as Partial<Manager>)
}

export function warningsAbout(restored: Manager, given: GivenManager): readonly string[] {
  const fields = [
    ['config/size', restored.config.size, given.config.size],
    ['config/buildInfo/version', restored.config.buildInfo.version, given.config.buildInfo.version],
    ['hostingClusterExtId', restored.hostingClusterExtId, given.hostingClusterExtId],
    [
      'shouldEnableHighAvailability',
      restored.shouldEnableHighAvailability ?? false,
      given.shouldEnableHighAvailability ?? false,
    ],
  ] as const
  return fields.flatMap(([path, current, requested]) =>
    requested === undefined || requested === current
      ? []
      : `${path} stays ${current}: it follows from the restore point and from how the service is started.`,
  )
}

async function pauseTargets(store: Transaction): Promise<void> {
  for (const { extId } of await store.find(BackupTarget))
    await store.observe(BackupTarget, extId, {
      isHeld: true,
      isBackupPaused: true,
      backupPauseReason: pauseReason,
      runTaskExtId: undefined,
    })
}

async function interruptTasks(store: Transaction, now: string): Promise<void> {
  const reason = new ApiError('TASK_INTERRUPTED_BY_RESTORE').appMessage
  const running = await store.find(Task, { filter: anyOf(pathOf(Task, 'status'), unfinished) })
  for (const task of running) {
    const changes = interruptedTask(task, reason, now, (definition) => endWhereTheyAre.has(definition))
    await store.update(Task, task.extId, changes)
  }
}
