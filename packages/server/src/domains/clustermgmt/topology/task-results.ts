/** Results of tasks, which clients fetch for a day. Source: behaviour clustermgmt.md 1.3 (fetchTaskResponse). */

import { anything, integer, resource, type ValueOf } from '@hyperplane/contract'
import { type TaskResponse, taskResponseType } from '@hyperplane/contract/clustermgmt/task-response'
import { pathOf } from '../../../core/standard.ts'
import type { Clock } from '../../../core/time/clock.ts'
import { compares } from '../../../odata/index.ts'
import type { Transaction } from '../../../store/store.ts'
import type { Schedule } from '../../context.ts'

type Response = ValueOf<typeof TaskResponse>

/** Has the id of the task. */
export const TaskResult = resource('internal.v1.clustermgmt.TaskResult', {
  fields: {
    taskResponseType,
    response: anything(),
    /** Milliseconds since 1970. */
    expiresAt: integer(),
  },
  indexed: ['expiresAt'],
  ofCluster: { stays: 'it belongs to a task, which stays' },
})

/** Operations whose tasks always have a result. */
export const operationsWithResult: ReadonlySet<string> = new Set([
  'Discover Unconfigured Nodes',
  'Fetch Node Networking Details',
  'Check Hypervisor Requirements',
])

const keptMilliseconds = 24 * 3600 * 1000

export async function keepResult(
  { store, clock, taskExtId }: { readonly store: Transaction; readonly clock: Clock; readonly taskExtId: string },
  type: Response['taskResponseType'],
  response: Response['response'],
): Promise<void> {
  const expiresAt = clock.now() + keptMilliseconds
  await store.insert(TaskResult, { extId: taskExtId, taskResponseType: type, response, expiresAt })
}

export const forgetResults: Schedule = {
  name: 'clustermgmt.forget-task-results',
  everySeconds: 3600,
  onlyLastCounts: true,
  run: async ({ store, clock }) => {
    const expired = compares(pathOf(TaskResult, 'expiresAt'), 'le', clock.now())
    if ((await store.count(TaskResult, { filter: expired })) === 0) return
    await store.transaction((transaction) => transaction.removeWhere(TaskResult, expired))
  },
}
