/** Invariants of finished tasks. Source: behaviour conventions 18.1, 18.2. */
import { Task } from '@hyperplane/contract/platform/task'
import { unfinished } from '../../core/tasks/runner.ts'
import type { Reader } from '../../store/store.ts'
import type { Broken, Invariant } from '../context.ts'
import { rowsOf } from '../invariants/rule.ts'

export const taskRules: readonly Invariant[] = [
  { promise: 'Every task that has ended says how, and names its parts and what it affected', look: tasks },
]

async function* tasks(store: Reader): AsyncGenerator<Broken> {
  for await (const task of rowsOf(store, Task)) {
    const { extId, operation, status = '', progressPercentage = 0, errorMessages = [], subTasks = [] } = task
    const say = (fault: string): Broken => ({ about: [], fault: `the task ${operation} ${extId} ${fault}` })
    const { allAffected = task.entitiesAffected ?? [] } = task as { allAffected?: readonly unknown[] }
    if ((task.numberOfEntitiesAffected ?? 0) !== allAffected.length)
      yield say(`counts ${task.numberOfEntitiesAffected ?? 0} affected entities and names ${allAffected.length}`)
    if (unfinished.includes(status)) continue
    if ((status === 'SUCCEEDED') !== (progressPercentage === 100)) yield say(`is ${status} at ${progressPercentage} %`)
    if (status !== 'SUCCEEDED' && errorMessages.length === 0) yield say(`is ${status} without a message`)
    if (task.completedTime === undefined) yield say('has no end')
    if (task.isCancelable === true) yield say('can still be cancelled')
    for (const part of subTasks)
      if (!(await store.has(Task, part.extId as string))) yield say(`has lost its part ${part.extId}`)
  }
}
