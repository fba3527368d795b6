/** One element of a batch. Source: catalogue platform.json; behaviour platform.md 2, 11, conventions.md 20. */
import { AppMessage } from '../envelope.ts'
import { get, list, perSecond, resource } from '../operation.ts'
import * as s from '../schema.ts'
import { KVPair } from '../shapes.ts'
import { AffectedEntity, taskReaders } from './task.ts'

export const TaskJob = resource('platform.v4.config.TaskJob', {
  fields: {
    /** Index of the element in the payload. */
    name: s.readOnly(s.text()),
    status: s.readOnly(s.enumeration(['PENDING', 'SUCCEEDED', 'FAILED'])),
    clusterExtIds: s.readOnly(s.arrayOf(s.uuid())),
    createdTime: s.readOnly(s.timestamp()),
    completedTime: s.readOnly(s.timestamp()),
    entitiesAffected: s.readOnly(s.arrayOf(AffectedEntity)),
    completionDetails: s.readOnly(s.arrayOf(KVPair)),
    warnings: s.readOnly(s.arrayOf(AppMessage)),
    errorMessages: s.readOnly(s.arrayOf(AppMessage)),
  },
  iamNoun: 'Task',
  internal: {
    taskExtId: s.taskId(),
    /** May read the jobs of the task without a policy. */
    ownerExtId: s.uuid(),
    /** JSON until it has run; sealed, because bodies may contain secrets. */
    element: s.secret(s.text({ multiline: true })),
    /** The task that an asynchronous element waits for. */
    elementTaskExtId: s.taskId(),
  },
  parent: { param: 'taskExtId', kind: 'Task', field: 'taskExtId' },
  notFound: 'TASK_NOT_FOUND',
})

const view = { roles: taskReaders, rateLimit: perSecond(20) }

export const taskJobOperations = {
  listTaskJobs: list('/config/tasks/{taskExtId}/jobs', TaskJob, {
    ...view,
    own: 'ownerExtId',
    pathSchemas: { taskExtId: s.taskId() },
    select: 'any',
  }),
  getTaskJobById: get('/config/tasks/{taskExtId}/jobs/{extId}', TaskJob, {
    ...view,
    own: 'ownerExtId',
    pathSchemas: { taskExtId: s.taskId() },
    select: 'any',
  }),
}
