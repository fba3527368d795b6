/** Stores the row, which holds everything needed to run the task. Source: conventions 18.3. */

import { Task } from '@hyperplane/contract/platform/task'
import type { Transaction } from '../../store/store.ts'
import type { Caller, Ids } from '../caller.ts'
import { defined } from '../defined.ts'
import type { Clock } from '../time/clock.ts'
import type { AnyTask, TaskOptions } from './define-task.ts'
import { sealedInput, type TaskSeals } from './sealed.ts'
import { addSubtask, type ParentTask } from './subtasks.ts'
import { affecting, type Runner, type TaskEntity } from './task-row.ts'

export interface TaskRequest {
  readonly definition: AnyTask<never>
  readonly input: unknown
  readonly options: TaskOptions
  readonly owner: Caller
  readonly isDryRun: boolean
  readonly parentTask: ParentTask | undefined
}

export async function acceptTask(
  transaction: Transaction,
  request: TaskRequest,
  clock: Clock,
  ids: Ids,
  seals: TaskSeals,
): Promise<TaskEntity> {
  const { definition, input, options, owner, isDryRun, parentTask } = request
  const extId = ids.uuid()
  const now = clock.iso()
  // A subtask must not wait for a lock of its parent: the parent waits for the subtask.
  const inherited = parentTask?.locks ?? []
  const requestedLocks = isDryRun ? [] : (options.locks ?? options.affected.map((entity) => entity.extId))
  const startedBy = options.startedBy ?? parentTask?.startedBy
  const runner: Runner = {
    definition: definition.name,
    cursor: 0,
    input: sealedInput(seals, extId, input),
    locks: requestedLocks.filter((lock) => !inherited.includes(lock)),
    inherited: inherited.length === 0 ? undefined : inherited,
    owner,
    startedBy,
    dryRun: isDryRun || undefined,
  }
  const fields = defined({
    extId,
    tenantId: owner.tenantId,
    operation: isDryRun ? `${options.operation}-dryrun` : options.operation,
    operationDescription: options.description ?? options.operation,
    status: 'QUEUED',
    progressPercentage: 0,
    createdTime: now,
    lastUpdatedTime: now,
    isCancelable: definition.cancelableUntil !== undefined && !isDryRun,
    isBackgroundTask: options.background ?? false,
    ownedBy: { extId: owner.extId, name: owner.name },
    ...affecting(options.affected),
    numberOfSubtasks: 0,
    clusterExtIds: options.clusterExtIds,
    completionDetails: options.completionDetails,
    appName: options.appName ?? definition.name.split('.')[0],
    parentTask: parentTask && { extId: parentTask.extId, rel: 'subtask' },
    rootTask: parentTask?.rootTask,
    runner: defined(runner),
  })
  // `runner` is internal: the contract's type does not know it.
  const task = fields as unknown as TaskEntity
  await transaction.insert(Task, task)
  if (parentTask?.recordsSubtasks === false) await addSubtask(transaction, parentTask.extId, extId, clock)
  return task
}
