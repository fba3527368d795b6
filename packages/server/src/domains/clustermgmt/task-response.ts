/** Source: behaviour clustermgmt.md 1.3 (fetchTaskResponse). */
import { taskResponseOperations } from '@hyperplane/contract/clustermgmt/task-response'
import type { Task } from '@hyperplane/contract/platform/task'
import { ApiError, invalid } from '../../core/api-error.ts'
import { notFound } from '../../core/standard.ts'
import { implement } from '../context.ts'
import { forgetResults, operationsWithResult, TaskResult } from './topology/task-results.ts'

export const taskResponse = implement(
  taskResponseOperations,
  {
    async fetchTaskResponse(ctx, { query }) {
      const task = ctx.target
      const wanted = query.parameters['taskResponseType']
      const result = await ctx.store.get(TaskResult, task.extId)
      if (result === undefined) throw absenceOf(task, String(wanted))
      if (result.expiresAt <= ctx.clock.now()) throw expired(task.extId)
      if (result.taskResponseType !== wanted)
        throw invalid('taskResponseType', `expected ${result.taskResponseType}, which the task found; found ${wanted}`)
      const { taskResponseType, response } = result
      // The task stored the response in the shape that its type names.
      return { extId: task.extId, taskResponseType, response } as never
    },
  },
  { records: [TaskResult], schedules: [forgetResults] },
)

const expired = (taskExtId: string): ApiError => notFound(TaskResult, taskExtId, 'extId')

function absenceOf({ extId, status, operation = '', errorMessages }: Task, wanted: string): ApiError {
  if (status !== 'SUCCEEDED') {
    const reason = errorMessages?.[0]?.message ?? `it is ${status}`
    return new ApiError('TASK_NOT_COMPLETE', { taskExtId: extId, reason })
  }
  if (!operationsWithResult.has(operation))
    return invalid('taskResponseType', `expected a task that has a result; "${operation}" has none, found ${wanted}`)
  return expired(extId)
}
