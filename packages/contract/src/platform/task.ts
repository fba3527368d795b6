/**
 * The record of a long-running operation: its progress, affected entities and errors.
 * Source: catalogue platform.json; behaviour platform.md 2, 11, conventions.md 18.
 */
import { AppMessage } from '../envelope.ts'
import { action, get, list, perSecond, read, resource } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import {
  arrayOf,
  boolean,
  enumeration,
  integer,
  object,
  optional,
  readOnly,
  taskId,
  text,
  timestamp,
  uuid,
} from '../schema.ts'
import { KVPair } from '../shapes.ts'

/** An entity that a task creates, changes or removes. */
export const AffectedEntity = object('platform.v4.config.EntityReference', {
  extId: optional(uuid()),
  name: optional(text({ maxLength: 256 })),
  rel: optional(text({ named: 'rel' })),
})

const OwnerReference = object('platform.v4.config.OwnerReference', {
  extId: optional(uuid()),
  name: optional(text({ maxLength: 256 })),
})

/** Filters name the reference itself: `parentTask eq '<task id>'`. */
const TaskReferenceInternal = object(
  'platform.v4.config.TaskReferenceInternal',
  {
    extId: optional(taskId()),
    href: optional(text({ named: 'href' })),
    rel: optional(text()),
  },
  { filteredBy: 'extId' },
)

const ResourceLink = object('platform.v4.config.ResourceLink', {
  name: optional(text()),
  href: optional(text({ named: 'href' })),
  rel: optional(text({ named: 'rel' })),
})

const TaskBatchSummary = object('platform.v4.config.TaskBatchSummary', {
  numberOfJobs: optional(integer({ minimum: 0 })),
  numberOfJobsSuccessful: optional(integer({ minimum: 0 })),
  numberOfJobsFailed: optional(integer({ minimum: 0 })),
})

const TaskStep = object('platform.v4.config.TaskStep', { name: optional(text({ maxLength: 512 })) })

export const Task = resource(
  'platform.v4.config.Task',
  {
    extId: readOnly(taskId()),
    operation: readOnly(text({ named: 'systemName' })),
    operationDescription: readOnly(text()),
    status: readOnly(enumeration(['QUEUED', 'RUNNING', 'CANCELING', 'SUCCEEDED', 'FAILED', 'CANCELED', 'SUSPENDED'])),
    progressPercentage: readOnly(integer({ minimum: 0, maximum: 100 })),
    isCancelable: readOnly(boolean()),
    isBackgroundTask: readOnly(boolean()),
    ownedBy: readOnly(OwnerReference),
    appName: readOnly(text()),
    clusterExtIds: readOnly(arrayOf(uuid(), { maxItems: 500 })),
    createdTime: readOnly(timestamp()),
    startedTime: readOnly(timestamp()),
    completedTime: readOnly(timestamp()),
    lastUpdatedTime: readOnly(timestamp()),
    entitiesAffected: readOnly(arrayOf(AffectedEntity, { maxItems: 300 })),
    numberOfEntitiesAffected: readOnly(integer({ minimum: 0 })),
    completionDetails: readOnly(arrayOf(KVPair, { maxItems: 50 })),
    resourceLinks: readOnly(arrayOf(ResourceLink)),
    subSteps: readOnly(arrayOf(TaskStep, { maxItems: 50 })),
    subTasks: readOnly(arrayOf(TaskReferenceInternal, { maxItems: 100 })),
    numberOfSubtasks: readOnly(integer({ minimum: 0 })),
    parentTask: readOnly(TaskReferenceInternal),
    rootTask: readOnly(TaskReferenceInternal),
    batchSummary: readOnly(TaskBatchSummary),
    warnings: readOnly(arrayOf(AppMessage, { maxItems: 50 })),
    errorMessages: readOnly(arrayOf(AppMessage, { maxItems: 100 })),
    legacyErrorMessage: readOnly(text({ multiline: true })),
  },
  {
    iam: { name: 'task', attributes: { owner_uuid: 'ownedBy/extId', cluster_uuid: 'clusterExtIds' } },
    notFound: 'TASK_NOT_FOUND',
    indexed: ['parentTask/extId', 'rootTask/extId'],
    newestFirst: true,
    bare: true,
    ofCluster: { stays: 'a task records what happened' },
  },
)

/** All other roles see their own tasks only. */
export const taskReaders: readonly RoleName[] = [
  'Account Owner',
  'Administrator',
  'Backup Admin',
  'CSI System',
  'Intelligent Ops Admin',
  'Kubernetes Data Services System',
  'Management Admin',
  'Management Connector',
  'Management Viewer',
  'Monitoring Admin',
  'Platform Admin',
  'Platform Viewer',
  'Self-Service Admin (deprecated)',
  'Super Admin',
]

export const taskOperations = {
  listTasks: list('/config/tasks', Task, {
    iam: 'View_Task',
    roles: taskReaders,
    own: 'ownedBy/extId',
    rateLimit: perSecond(20),
    filter: [
      'clusterExtIds',
      'completedTime',
      'createdTime',
      'entitiesAffected/extId',
      'entitiesAffected/name',
      'entitiesAffected/rel',
      'extId',
      'isBackgroundTask',
      'lastUpdatedTime',
      'operation',
      'operationDescription',
      'ownedBy/extId',
      'ownedBy/name',
      'parentTask',
      'progressPercentage',
      'rootTask',
      'startedTime',
      'status',
    ],
    orderby: [
      'completedTime',
      'createdTime',
      'lastUpdatedTime',
      'operation',
      'operationDescription',
      'ownedBy/extId',
      'ownedBy/name',
      'progressPercentage',
      'startedTime',
      'status',
    ],
    select: 'any',
  }),
  getTaskById: get('/config/tasks/{extId}', Task, {
    iam: 'View_Task',
    roles: taskReaders,
    own: 'ownedBy/extId',
    pathSchemas: { extId: taskId() },
    rateLimit: perSecond(50),
    select: 'any',
  }),
  cancelTask: action('/config/tasks/{taskExtId}/$actions/cancel', {
    of: Task,
    iam: 'Cancel_Task',
    roles: [
      'Intelligent Ops Admin',
      'Management Admin',
      'Platform Admin',
      'Self-Service Admin (deprecated)',
      'Super Admin',
    ],
    // Callers may cancel their own task if they hold the operation that started it.
    own: 'ownedBy/extId',
    pathSchemas: { taskExtId: taskId() },
    rateLimit: perSecond(5),
    runs: 'sync',
    answer: AppMessage,
  }),
  /** All affected entities; the task itself shows the first 300. */
  listTaskEntities: read('/config/tasks/{taskExtId}/affected-entities', arrayOf(AffectedEntity), {
    of: Task,
    iam: 'View_Task',
    roles: taskReaders,
    own: 'ownedBy/extId',
    pathSchemas: { taskExtId: taskId() },
    rateLimit: perSecond(20),
    paged: true,
    filter: ['extId', 'name', 'rel'],
    select: 'any',
  }),
}
