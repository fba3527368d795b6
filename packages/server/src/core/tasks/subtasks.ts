import { Task } from '@hyperplane/contract/platform/task'
import type { Transaction } from '../../store/store.ts'
import type { Clock } from '../time/clock.ts'
import type { TaskChanges } from './define-task.ts'
import type { TaskEntity } from './task-row.ts'

export interface ParentTask {
  readonly extId: string
  readonly rootTask: TaskEntity['rootTask']
  readonly locks: readonly string[]
  readonly startedBy: string | undefined
  readonly recordsSubtasks: boolean
}

export const parentTaskOf = ({ extId, rootTask, runner }: TaskEntity, recordsSubtasks: boolean): ParentTask => ({
  extId,
  rootTask: rootTask ?? { extId, rel: 'subtask' },
  locks: [...(runner.inherited ?? []), ...runner.locks],
  startedBy: runner.startedBy,
  recordsSubtasks: recordsSubtasks,
})

export const subtasksOf = (
  extIds: readonly string[],
): Required<Pick<TaskChanges, 'subTasks' | 'numberOfSubtasks'>> => ({
  subTasks: extIds.slice(0, 100).map((extId) => ({ extId, rel: 'subtask' })),
  numberOfSubtasks: extIds.length,
})

export async function addSubtask(
  transaction: Transaction,
  parentExtId: string,
  subtaskExtId: string,
  clock: Clock,
): Promise<void> {
  const { subTasks = [], numberOfSubtasks = 0 } = (await transaction.get(Task, parentExtId)) as TaskEntity
  await transaction.observe(Task, parentExtId, {
    ...subtasksOf([...subTasks.map((each) => each.extId as string), subtaskExtId]),
    numberOfSubtasks: numberOfSubtasks + 1,
    lastUpdatedTime: clock.iso(),
  })
}
