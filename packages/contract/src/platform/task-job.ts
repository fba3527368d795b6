/**
 * One element of a batch: its result, affected entities and errors. Tasks of other kinds have no jobs.
 * Source: catalogue platform.json; behaviour platform.md 2, 11, conventions.md 20.
 */
import { AppMessage } from '../envelope.ts'
import { get, list, perSecond, resource } from '../operation.ts'
import { arrayOf, enumeration, readOnly, secret, taskId, text, timestamp, uuid } from '../schema.ts'
import { KVPair } from '../shapes.ts'
import { AffectedEntity, taskReaders } from './task.ts'

export const TaskJob = resource(
  'platform.v4.config.TaskJob',
  {
    /** Index of the element in the payload. */
    name: readOnly(text()),
    status: readOnly(enumeration(['PENDING', 'SUCCEEDED', 'FAILED'])),
    clusterExtIds: readOnly(arrayOf(uuid())),
    createdTime: readOnly(timestamp()),
    completedTime: readOnly(timestamp()),
    entitiesAffected: readOnly(arrayOf(AffectedEntity)),
    completionDetails: readOnly(arrayOf(KVPair)),
    warnings: readOnly(arrayOf(AppMessage)),
    errorMessages: readOnly(arrayOf(AppMessage)),
  },
  {
    internal: {
      taskExtId: taskId(),
      /** Owner of the task, who may read its jobs without a policy. */
      ownerExtId: uuid(),
      /** JSON of the element until it has run; sealed, because bodies may contain secrets. */
      element: secret(text({ multiline: true })),
      /** The task that an asynchronous element waits for. */
      elementTaskExtId: taskId(),
    },
    parent: { param: 'taskExtId', kind: 'Task', field: 'taskExtId' },
    notFound: 'TASK_NOT_FOUND',
  },
)

export const taskJobOperations = {
  listTaskJobs: list('/config/tasks/{taskExtId}/jobs', TaskJob, {
    iam: 'View_Task',
    roles: taskReaders,
    own: 'ownerExtId',
    pathSchemas: { taskExtId: taskId() },
    rateLimit: perSecond(20),
    select: 'any',
  }),
  getTaskJobById: get('/config/tasks/{taskExtId}/jobs/{extId}', TaskJob, {
    iam: 'View_Task',
    roles: taskReaders,
    own: 'ownerExtId',
    pathSchemas: { taskExtId: taskId() },
    rateLimit: perSecond(20),
    select: 'any',
  }),
}
