/** The demo's history: finished tasks of several kinds in every terminal state, and one batch. Source: behaviour platform.md 13. */
import { Batch } from '@hyperplane/contract/platform/batch'
import { Task } from '@hyperplane/contract/platform/task'
import { TaskJob } from '@hyperplane/contract/platform/task-job'
import { ApiError, type AppMessage } from '../../core/api-error.ts'
import { type SeedContext, seedId } from '../seed.ts'

interface PastTask {
  readonly app: string
  readonly operation: string
  readonly description: string
  readonly status?: 'FAILED' | 'CANCELED'
  /** Names of seeded entities, with the `rel` of their kind. */
  readonly affected: readonly (readonly [rel: string, seed: string, name: string])[]
}

const subnet = (name: string) => ['networking:config:subnet', `subnet/${name}`, name] as const
const vm = (name: string) => ['vmm:ahv:config:vm', `vm/${name}`, name] as const
const image = (name: string) => ['vmm:content:image', `image/${name}`, name] as const
const group = (name: string) => ['volumes:config:volume-group', `volume-group/${name}`, name] as const
const cluster = (name: string) => ['clustermgmt:config:cluster', `cluster/${name}`, name] as const
const user = (name: string) => ['iam:authn:user', `user/${name}`, name] as const

/** Oldest first. */
const history: readonly PastTask[] = [
  {
    app: 'clustermgmt',
    operation: 'createCluster',
    description: 'Create cluster hp-native-01',
    affected: [cluster('hp-native-01')],
  },
  {
    app: 'clustermgmt',
    operation: 'createCluster',
    description: 'Create cluster hp-extern-01',
    affected: [cluster('hp-extern-01')],
  },
  {
    app: 'platform',
    operation: 'RegisterAOS',
    description: 'Register cluster hp-native-01',
    affected: [cluster('hp-native-01')],
  },
  {
    app: 'platform',
    operation: 'RegisterAOS',
    description: 'Register cluster hp-extern-01',
    status: 'FAILED',
    affected: [cluster('hp-extern-01')],
  },
  {
    app: 'platform',
    operation: 'RegisterAOS',
    description: 'Register cluster hp-extern-01',
    affected: [cluster('hp-extern-01')],
  },
  {
    app: 'iam',
    operation: 'synchronizeDirectory',
    description: 'Read the groups of corp-ad',
    affected: [user('alice')],
  },
  {
    app: 'networking',
    operation: 'kSubnetCreate',
    description: 'Create subnet vlan-100-app',
    affected: [subnet('vlan-100-app')],
  },
  {
    app: 'networking',
    operation: 'kSubnetCreate',
    description: 'Create subnet vlan-200-static',
    affected: [subnet('vlan-200-static')],
  },
  {
    app: 'networking',
    operation: 'kSubnetUpdate',
    description: 'Update subnet vlan-100-app',
    status: 'FAILED',
    affected: [subnet('vlan-100-app')],
  },
  {
    app: 'networking',
    operation: 'kSubnetUpdate',
    description: 'Update subnet vlan-100-app',
    affected: [subnet('vlan-100-app')],
  },
  {
    app: 'vmm',
    operation: 'kImageCreate',
    description: 'Create image ubuntu-24.04.qcow2',
    affected: [image('ubuntu-24.04.qcow2')],
  },
  {
    app: 'vmm',
    operation: 'kImageCreate',
    description: 'Create image centos-9.qcow2',
    status: 'CANCELED',
    affected: [image('centos-9.qcow2')],
  },
  {
    app: 'vmm',
    operation: 'kImageCreate',
    description: 'Create image centos-9.qcow2',
    affected: [image('centos-9.qcow2')],
  },
  { app: 'vmm', operation: 'CreateVm', description: 'Create VM web-01', affected: [vm('web-01')] },
  { app: 'vmm', operation: 'CreateVm', description: 'Create VM web-02', affected: [vm('web-02')] },
  { app: 'vmm', operation: 'CreateVm', description: 'Create VM db-01', status: 'FAILED', affected: [vm('db-01')] },
  { app: 'vmm', operation: 'CreateVm', description: 'Create VM db-01', affected: [vm('db-01')] },
  { app: 'vmm', operation: 'VmPowerOn', description: 'Power on VM web-01', affected: [vm('web-01')] },
  { app: 'vmm', operation: 'VmPowerOn', description: 'Power on VM web-02', affected: [vm('web-02')] },
  { app: 'vmm', operation: 'VmPowerOn', description: 'Power on VM db-01', affected: [vm('db-01')] },
  {
    app: 'volumes',
    operation: 'VolumeGroupCreate',
    description: 'Create volume group vg-orders-db',
    affected: [group('vg-orders-db')],
  },
  {
    app: 'volumes',
    operation: 'VolumeGroupCreate',
    description: 'Create volume group vg-unused',
    affected: [group('vg-unused')],
  },
  {
    app: 'volumes',
    operation: 'VolumeGroupCreate',
    description: 'Create volume group vg-backup',
    status: 'CANCELED',
    affected: [group('vg-backup')],
  },
  {
    app: 'volumes',
    operation: 'VolumeGroupCreate',
    description: 'Create volume group vg-backup',
    affected: [group('vg-backup')],
  },
  {
    app: 'storage',
    operation: 'addDataStore',
    description: 'Mount extern-store as a datastore',
    affected: [cluster('hp-extern-01')],
  },
]

const hour = 3600

export async function seedTasks(ctx: SeedContext): Promise<void> {
  for (const [index, past] of history.entries()) {
    const began = (history.length - index + 1) * hour
    const { app, operation, description, status = 'SUCCEEDED', affected } = past
    const errorMessages = status === 'FAILED' ? [timedOut] : status === 'CANCELED' ? [canceled] : undefined
    await ctx.store.insert(Task, {
      ...finished(ctx, `task/${index}`, began),
      operation,
      operationDescription: affected.reduce((text, [, , name]) => text.replace(name, ctx.nameOf(name)), description),
      status,
      progressPercentage: status === 'SUCCEEDED' ? 100 : 40,
      appName: app,
      entitiesAffected: affected.map(([rel, seed, name]) => ({ extId: seedId(seed), name: ctx.nameOf(name), rel })),
      numberOfEntitiesAffected: affected.length,
      numberOfSubtasks: 0,
      ...(errorMessages === undefined ? {} : { errorMessages, legacyErrorMessage: errorMessages[0]?.message }),
    } as never)
  }
  await seedBatch(ctx)
}

/** Three categories that somebody made, one of them twice. */
async function seedBatch(ctx: SeedContext): Promise<void> {
  const taskExtId = seedId('task/batch')
  const values = ['Dev', 'Test', 'Dev'] as const
  const taken = new ApiError('CATEGORY_ALREADY_EXISTS', { kind: 'category', fields: 'key and value' }).appMessage
  const entities = values
    .slice(0, 2)
    .map((value) => ({ extId: seedId(`category/Environment/${value}`), rel: 'platform:config:category' }))
  const times = finished(ctx, 'task/batch', hour)
  await ctx.store.insert(Task, {
    ...times,
    operation: 'BATCH-CREATE',
    operationDescription: 'environments',
    status: 'FAILED',
    progressPercentage: 99,
    appName: 'platform',
    entitiesAffected: entities,
    numberOfEntitiesAffected: entities.length,
    numberOfSubtasks: 0,
    batchSummary: { numberOfJobs: 3, numberOfJobsSuccessful: 2, numberOfJobsFailed: 1 },
    errorMessages: [new ApiError('TASK_LEGACY_ERROR', { fault: '1 of 3 elements failed' }).appMessage],
    legacyErrorMessage: '1 subtask has failed.',
  } as never)
  for (const [index, entity] of [...entities, undefined].entries()) {
    const isDone = entity !== undefined
    await ctx.store.insert(TaskJob, {
      extId: seedId(`task/batch/${index}`),
      tenantId: ctx.tenantId,
      ownerExtId: ctx.adminId,
      taskExtId,
      name: String(index),
      status: isDone ? 'SUCCEEDED' : 'FAILED',
      createdTime: times.createdTime,
      completedTime: times.completedTime,
      completionDetails: [
        { name: 'httpStatus', value: isDone ? 201 : 409 },
        ...(isDone ? [{ name: 'entityExtId', value: entity.extId }] : []),
      ],
      ...(isDone ? { entitiesAffected: [entity] } : { errorMessages: [taken] }),
    })
  }
  await ctx.store.insert(Batch, {
    extId: taskExtId,
    tenantId: ctx.tenantId,
    ownerExtId: ctx.adminId,
    name: 'environments',
    size: 3,
    successCount: 2,
    failedCount: 1,
    shouldStopOnError: false,
    executionStatus: 'COMPLETED',
    completionStatus: 'PARTIALLY_SUCCEEDED',
    startTime: times.startedTime,
    endTime: times.completedTime,
  })
}

const finished = (ctx: SeedContext, seed: string, secondsAgo: number) => ({
  extId: seedId(seed),
  tenantId: ctx.tenantId,
  createdTime: ctx.ago(secondsAgo),
  startedTime: ctx.ago(secondsAgo - 1),
  completedTime: ctx.ago(secondsAgo - 5),
  lastUpdatedTime: ctx.ago(secondsAgo - 5),
  isCancelable: false,
  isBackgroundTask: false,
  ownedBy: { extId: ctx.adminId, name: 'admin' },
})

const timedOut: AppMessage = new ApiError('BACKEND_TIMEOUT', { fault: 'The cluster did not answer within 10 s.' })
  .appMessage
const canceled: AppMessage = {
  message: 'The task was cancelled as requested; what it had done was undone.',
  severity: 'ERROR',
  code: 'TSKS-20905',
  locale: 'en_US',
  errorGroup: 'TASK_CANCELED',
}
