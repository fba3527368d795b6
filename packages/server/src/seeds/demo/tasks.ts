/** Tasks and batches that ended before a world began. Source: behaviour platform.md 13, conventions.md 24. */

import { Batch } from '@hyperplane/contract/platform/batch'
import { Task } from '@hyperplane/contract/platform/task'
import { TaskJob } from '@hyperplane/contract/platform/task-job'
import { ApiError, type AppMessage } from '../../core/api-error.ts'
import { seedId } from '../../core/ids/named-id.ts'
import type { SeedContext } from '../context.ts'

/** Entities of past tasks, with the `rel` of their kind. */
export const relOfPast = {
  cluster: 'clustermgmt:config:cluster',
  image: 'vmm:content:image',
  subnet: 'networking:config:subnet',
  user: 'iam:authn:user',
  vm: 'vmm:ahv:config:vm',
  volumeGroup: 'volumes:config:volume-group',
} as const

export interface PastTask {
  readonly app: string
  readonly operation: string
  readonly description: string
  readonly status?: 'SUCCEEDED' | 'FAILED' | 'CANCELED'
  readonly affected: readonly { readonly extId: string; readonly name: string; readonly rel: string }[]
}

const demo =
  (kind: keyof typeof relOfPast) =>
  (name: string): PastTask['affected'][number] => ({
    extId: seedId(`${kind === 'volumeGroup' ? 'volume-group' : kind}/${name}`),
    name,
    rel: relOfPast[kind],
  })
const subnet = demo('subnet')
const vm = demo('vm')
const image = demo('image')
const group = demo('volumeGroup')
const cluster = demo('cluster')
const user = demo('user')

const past = (
  app: string,
  operation: string,
  description: string,
  entity: PastTask['affected'][number],
  status: PastTask['status'] = 'SUCCEEDED',
): PastTask => ({ app, operation, description, status, affected: [entity] })

const history: readonly PastTask[] = [
  past('clustermgmt', 'createCluster', 'Create cluster hp-native-01', cluster('hp-native-01')),
  past('clustermgmt', 'createCluster', 'Create cluster hp-extern-01', cluster('hp-extern-01')),
  past('platform', 'RegisterAOS', 'Register cluster hp-native-01', cluster('hp-native-01')),
  past('platform', 'RegisterAOS', 'Register cluster hp-extern-01', cluster('hp-extern-01'), 'FAILED'),
  past('platform', 'RegisterAOS', 'Register cluster hp-extern-01', cluster('hp-extern-01')),
  past('iam', 'synchronizeDirectory', 'Read the groups of corp-ad', user('alice')),
  past('networking', 'kSubnetCreate', 'Create subnet vlan-100-app', subnet('vlan-100-app')),
  past('networking', 'kSubnetCreate', 'Create subnet vlan-200-static', subnet('vlan-200-static')),
  past('networking', 'kSubnetUpdate', 'Update subnet vlan-100-app', subnet('vlan-100-app'), 'FAILED'),
  past('networking', 'kSubnetUpdate', 'Update subnet vlan-100-app', subnet('vlan-100-app')),
  past('vmm', 'kImageCreate', 'Create image ubuntu-24.04.qcow2', image('ubuntu-24.04.qcow2')),
  past('vmm', 'kImageCreate', 'Create image centos-9.qcow2', image('centos-9.qcow2'), 'CANCELED'),
  past('vmm', 'kImageCreate', 'Create image centos-9.qcow2', image('centos-9.qcow2')),
  past('vmm', 'CreateVm', 'Create VM web-01', vm('web-01')),
  past('vmm', 'CreateVm', 'Create VM web-02', vm('web-02')),
  past('vmm', 'CreateVm', 'Create VM db-01', vm('db-01'), 'FAILED'),
  past('vmm', 'CreateVm', 'Create VM db-01', vm('db-01')),
  past('vmm', 'VmPowerOn', 'Power on VM web-01', vm('web-01')),
  past('vmm', 'VmPowerOn', 'Power on VM web-02', vm('web-02')),
  past('vmm', 'VmPowerOn', 'Power on VM db-01', vm('db-01')),
  past('volumes', 'VolumeGroupCreate', 'Create volume group vg-orders-db', group('vg-orders-db')),
  past('volumes', 'VolumeGroupCreate', 'Create volume group vg-unused', group('vg-unused')),
  past('volumes', 'VolumeGroupCreate', 'Create volume group vg-backup', group('vg-backup'), 'CANCELED'),
  past('volumes', 'VolumeGroupCreate', 'Create volume group vg-backup', group('vg-backup')),
  past('storage', 'addDataStore', 'Mount extern-store as a datastore', cluster('hp-extern-01')),
]

const hour = 3600

export async function seedTasks(ctx: SeedContext): Promise<void> {
  for (const [index, { description, affected, ...task }] of history.entries())
    await seedPastTask(ctx, `task/${index}`, history.length - index + 1, {
      ...task,
      description: affected.reduce((text, { name }) => text.replace(name, ctx.nameOf(name)), description),
      affected: affected.map((each) => ({ ...each, name: ctx.nameOf(each.name) })),
    })
  const values = ['Dev', 'Test']
  await seedPastBatch(ctx, {
    name: 'environments',
    seed: 'task/batch',
    created: values.map((value) => seedId(`category/Environment/${value}`)),
    failedCount: 1,
  })
}

/** @param seed name from which the id of the task is derived */
export async function seedPastTask(ctx: SeedContext, seed: string, hoursAgo: number, past: PastTask): Promise<void> {
  const { app, operation, description, status = 'SUCCEEDED', affected } = past
  const errorMessages = status === 'FAILED' ? [timedOut] : status === 'CANCELED' ? [canceled] : undefined
  await ctx.store.insert(Task, {
    ...finished(ctx, seed, hoursAgo * hour),
    operation,
    operationDescription: description,
    status,
    progressPercentage: status === 'SUCCEEDED' ? 100 : 40,
    appName: app,
    entitiesAffected: affected.map(({ extId, name, rel }) => ({ extId, name, rel })),
    numberOfEntitiesAffected: affected.length,
    numberOfSubtasks: 0,
    ...(errorMessages === undefined ? {} : { errorMessages, legacyErrorMessage: errorMessages[0]?.message }),
  })
}

export interface PastBatch {
  readonly name: string
  /** The ids of its task and elements are derived from this name. */
  readonly seed: string
  readonly created: readonly string[]
  /** Elements that failed because their entity existed already. */
  readonly failedCount: number
}

export async function seedPastBatch(ctx: SeedContext, { name, seed, created, failedCount }: PastBatch): Promise<void> {
  const taskExtId = seedId(seed)
  const taken = new ApiError('CATEGORY_ALREADY_EXISTS', { kind: 'category', fields: 'key and value' }).appMessage
  const size = created.length + failedCount
  const entities = created.map((extId) => ({ extId, rel: 'platform:config:category' }))
  const times = finished(ctx, seed, hour)
  const failure = {
    progressPercentage: 99,
    errorMessages: [
      new ApiError('TASK_LEGACY_ERROR', { fault: `${failedCount} of ${size} elements failed` }).appMessage,
    ],
    legacyErrorMessage: failedCount === 1 ? '1 subtask has failed.' : `${failedCount} subtasks have failed.`,
  }
  await ctx.store.insert(Task, {
    ...times,
    operation: 'BATCH-CREATE',
    operationDescription: name,
    status: failedCount > 0 ? 'FAILED' : 'SUCCEEDED',
    progressPercentage: 100,
    appName: 'platform',
    entitiesAffected: entities,
    numberOfEntitiesAffected: entities.length,
    numberOfSubtasks: 0,
    batchSummary: { numberOfJobs: size, numberOfJobsSuccessful: created.length, numberOfJobsFailed: failedCount },
    ...(failedCount > 0 ? failure : {}),
  })
  for (let index = 0; index < size; index++) {
    const entity = entities[index]
    const isDone = entity !== undefined
    await ctx.store.insert(TaskJob, {
      extId: seedId(`${seed}/${index}`),
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
    name,
    size,
    successCount: created.length,
    failedCount,
    shouldStopOnError: false,
    executionStatus: 'COMPLETED',
    completionStatus: failedCount === 0 ? 'SUCCEEDED' : created.length === 0 ? 'FAILED' : 'PARTIALLY_SUCCEEDED',
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
