/** Source: catalogue platform.json; behaviour platform.md 2, 11, conventions.md 18. */
import { AppMessage } from '../envelope.ts'
import { names } from '../names.ts'
import { action, type EntityOf, get, list, perSecond, read, resource } from '../operation.ts'
import type { RoleName } from '../roles.ts'
import * as s from '../schema.ts'
import { KVPair } from '../shapes.ts'

export const AffectedEntity = s.object('platform.v4.config.EntityReference', {
  extId: s.optional(s.uuid()),
  name: s.optional(s.text({ maxLength: 256 })),
  rel: s.optional(s.text({ named: 'rel' })),
})

const OwnerReference = s.object('platform.v4.config.OwnerReference', {
  extId: s.optional(s.uuid()),
  name: s.optional(s.text({ maxLength: 256 })),
})

/** Filters name the reference itself: `parentTask eq '<task id>'`. */
const TaskReferenceInternal = s.object(
  'platform.v4.config.TaskReferenceInternal',
  { extId: s.optional(s.taskId()), href: s.optional(s.text({ named: 'href' })), rel: s.optional(s.text()) },
  { filteredBy: 'extId' },
)

const ResourceLink = s.object('platform.v4.config.ResourceLink', {
  name: s.optional(s.text()),
  href: s.optional(s.text({ named: 'href' })),
  rel: s.optional(s.text({ named: 'rel' })),
})

const TaskBatchSummary = s.object('platform.v4.config.TaskBatchSummary', {
  numberOfJobs: s.optional(s.integer({ minimum: 0 })),
  numberOfJobsSuccessful: s.optional(s.integer({ minimum: 0 })),
  numberOfJobsFailed: s.optional(s.integer({ minimum: 0 })),
})

const TaskStep = s.object('platform.v4.config.TaskStep', { name: s.optional(s.text({ maxLength: 512 })) })

export const Task = resource('platform.v4.config.Task', {
  fields: {
    extId: s.readOnly(s.taskId()),
    operation: s.readOnly(s.text({ named: 'systemName' })),
    operationDescription: s.readOnly(s.text()),
    status: s.readOnly(
      s.enumeration(['QUEUED', 'RUNNING', 'CANCELING', 'SUCCEEDED', 'FAILED', 'CANCELED', 'SUSPENDED']),
    ),
    progressPercentage: s.readOnly(s.integer({ minimum: 0, maximum: 100 })),
    isCancelable: s.readOnly(s.boolean()),
    isBackgroundTask: s.readOnly(s.boolean()),
    ownedBy: s.readOnly(OwnerReference),
    appName: s.readOnly(s.text()),
    clusterExtIds: s.readOnly(s.arrayOf(s.uuid(), { maxItems: 500 })),
    createdTime: s.readOnly(s.timestamp()),
    startedTime: s.readOnly(s.timestamp()),
    completedTime: s.readOnly(s.timestamp()),
    lastUpdatedTime: s.readOnly(s.timestamp()),
    entitiesAffected: s.readOnly(s.arrayOf(AffectedEntity, { maxItems: 300 })),
    numberOfEntitiesAffected: s.readOnly(s.integer({ minimum: 0 })),
    completionDetails: s.readOnly(s.arrayOf(KVPair, { maxItems: 50 })),
    resourceLinks: s.readOnly(s.arrayOf(ResourceLink)),
    subSteps: s.readOnly(s.arrayOf(TaskStep, { maxItems: 50 })),
    subTasks: s.readOnly(s.arrayOf(TaskReferenceInternal, { maxItems: 100 })),
    numberOfSubtasks: s.readOnly(s.integer({ minimum: 0 })),
    parentTask: s.readOnly(TaskReferenceInternal),
    rootTask: s.readOnly(TaskReferenceInternal),
    batchSummary: s.readOnly(TaskBatchSummary),
    warnings: s.readOnly(s.arrayOf(AppMessage, { maxItems: 50 })),
    errorMessages: s.readOnly(s.arrayOf(AppMessage, { maxItems: 100 })),
    legacyErrorMessage: s.readOnly(s.text({ multiline: true })),
  },
  internal: {
    /** JSON of completion details that only the owner of the task sees; nobody else sees any of its details. */
    ownerDetails: s.secret(s.text({ multiline: true })),
  },
  iam: { owner_uuid: 'ownedBy/extId', cluster_uuid: 'clusterExtIds' },
  notFound: 'TASK_NOT_FOUND',
  indexed: ['parentTask/extId', 'rootTask/extId'],
  newestFirst: true,
  bare: true,
  ofCluster: { stays: 'a task records what happened' },
  isInNewWorld: () => true,
})
export type Task = EntityOf<typeof Task>

/** Completion details whose values are secrets: the journal masks them. */
export const secretDetails: readonly string[] = ['VmConsoleToken']

/** All other roles see their own tasks only. */
export const taskReaders: readonly RoleName[] = names(`
  Account Owner, Administrator, Backup Admin, CSI System, Intelligent Ops Admin, Kubernetes Data Services System,
  Management Admin, Management Connector, Management Viewer, Monitoring Admin, Platform Admin, Platform Viewer,
  Self-Service Admin (deprecated), Super Admin
`)

const view = { roles: taskReaders }

export const taskOperations = {
  listTasks: list('/config/tasks', Task, {
    ...view,
    own: 'ownedBy/extId',
    rateLimit: perSecond(20),
    filter: names(`
      clusterExtIds, completedTime, createdTime, entitiesAffected/extId, entitiesAffected/name, entitiesAffected/rel,
      extId, isBackgroundTask, lastUpdatedTime, operation, operationDescription, ownedBy/extId, ownedBy/name,
      parentTask, progressPercentage, rootTask, startedTime, status
    `),
    orderby: names(`
      completedTime, createdTime, lastUpdatedTime, operation, operationDescription, ownedBy/extId, ownedBy/name,
      progressPercentage, startedTime, status
    `),
    select: 'any',
  }),
  getTaskById: get('/config/tasks/{extId}', Task, {
    ...view,
    own: 'ownedBy/extId',
    pathSchemas: { extId: s.taskId() },
    rateLimit: perSecond(50),
    select: 'any',
  }),
  cancelTask: action('/config/tasks/{taskExtId}/$actions/cancel', {
    of: Task,
    roles: names(`
      Intelligent Ops Admin, Management Admin, Platform Admin, Self-Service Admin (deprecated), Super Admin
    `),
    // Callers may cancel their own task if they hold the operation that started it.
    own: 'ownedBy/extId',
    pathSchemas: { taskExtId: s.taskId() },
    rateLimit: perSecond(5),
    runs: 'sync',
    answer: AppMessage,
  }),
  /** The task itself shows the first 300. */
  listTaskEntities: read('/config/tasks/{taskExtId}/affected-entities', s.arrayOf(AffectedEntity), {
    ...view,
    of: Task,
    own: 'ownedBy/extId',
    pathSchemas: { taskExtId: s.taskId() },
    rateLimit: perSecond(20),
    paged: true,
    filter: ['extId', 'name', 'rel'],
    select: 'any',
  }),
}
