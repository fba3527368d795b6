/** Tasks: derived fields, cancellation, retention. Source: behaviour platform.md 2, conventions.md 18. */
import { Batch } from '@hyperplane/contract/platform/batch'
import { platformMessages } from '@hyperplane/contract/platform/errors'
import { Task, taskOperations } from '@hyperplane/contract/platform/task'
import { TaskJob } from '@hyperplane/contract/platform/task-job'
import { ApiError } from '../../core/api-error.ts'
import { Derivation } from '../../core/derivation.ts'
import { listOf, pathOf } from '../../core/standard.ts'
import { formatTime } from '../../core/time/clock.ts'
import { and, anyOf, applySelection, compares, equals, not, type TypedFilter } from '../../odata/index.ts'
import type { Store } from '../../store/store.ts'
import { type AffectedEntity, implement, type ReadContext, type Schedule, type WriteContext } from '../context.ts'
import { withVisibleNames } from './affected-entities.ts'
import { taskRules } from './invariants.ts'

/** `allAffected`: stored if there are more affected entities than the interface shows. */
type StoredTask = Task & { readonly allAffected?: readonly AffectedEntity[] }

const ended: readonly unknown[] = ['SUCCEEDED', 'FAILED', 'CANCELED']

const day = 24 * 3600 * 1000
const retentionMilliseconds = 30 * day
const batchRetentionMilliseconds = 90 * day
const maximumFinished = 1_000_000
/** Per transaction, so that other writers get their turn. */
const removedAtOnce = 200

const retention: Schedule = {
  name: 'platform.task-retention',
  everySeconds: 3600,
  onlyLastCounts: true,
  run: (ctx) => removeOld(ctx.store, ctx.clock.now()),
}

export const task = implement(
  taskOperations,
  {
    async cancelTask(ctx) {
      const found = ctx.target
      if (ended.includes(found.status)) {
        throw new ApiError('TASK_ALREADY_FINISHED', { taskExtId: found.extId, status: found.status as string })
      }
      if (found.status !== 'CANCELING') await cancel(ctx, found)
      return {
        ...platformMessages.TASK_CANCELLATION_SUCCESS,
        severity: 'INFO' as const,
        locale: 'en_US',
        errorGroup: 'TASK_CANCELLATION_SUCCESS',
      }
    },

    async listTaskEntities(ctx, request) {
      const found: StoredTask = ctx.target
      const all = found.allAffected ?? ((found.entitiesAffected ?? []) as readonly AffectedEntity[])
      const [shown] = await withVisibleNames(ctx, [all])
      const page = listOf(shown as readonly AffectedEntity[], request)
      const { select } = request.query
      return select === undefined
        ? page
        : { ...page, entities: page.entities.map((entity) => applySelection(select, entity)) }
    },
  },
  { present: [[Task, presentTasks]], schedules: [retention], invariants: taskRules },
)

async function cancel(ctx: WriteContext, found: Task): Promise<void> {
  if (found.isCancelable !== true) {
    throw new ApiError('TASK_NOT_CANCELABLE', { taskExtId: found.extId, operation: found.operation ?? '' })
  }
  await ctx.services.runner.requestCancel(ctx.store, found.extId, (work) => ctx.afterCommit(work))
  for (const part of await ctx.store.findWhere(Task, { 'parentTask/extId': found.extId })) {
    if (!ended.includes(part.status) && part.status !== 'CANCELING' && part.isCancelable === true)
      await cancel(ctx, part)
  }
}

const presented = new Derivation<Task, Task>()

async function presentTasks(ctx: ReadContext, tasks: readonly StoredTask[]): Promise<readonly Task[]> {
  ctx.followsStore()
  const names = await withVisibleNames(
    ctx,
    tasks.map((each) => (each.entitiesAffected ?? []) as readonly AffectedEntity[]),
  )
  return tasks.map((each, index) => {
    const affected = names[index] as NonNullable<Task['entitiesAffected']>
    const shown = presented.of(
      each,
      affected.map(({ name }) => name),
      () => withLinks(each, affected),
    )
    return each.ownerDetails === undefined ? shown : { ...shown, completionDetails: ownerDetailsOf(ctx, each) }
  })
}

function ownerDetailsOf(ctx: ReadContext, task: StoredTask): Task['completionDetails'] {
  if (task.ownedBy?.extId !== ctx.caller.extId) return undefined
  const details = ctx.secrets.open(Task.kind, task.extId, 'ownerDetails', task.ownerDetails)
  return [...(task.completionDetails ?? []), ...JSON.parse(details ?? '[]')]
}

function withLinks(task: Task, affected: NonNullable<Task['entitiesAffected']>): Task {
  const linked = <R extends { extId?: string }>(reference: R): R & { href: string } => ({
    ...reference,
    href: `/platform/v4.3/config/tasks/${reference.extId}`,
  })
  return {
    ...task,
    ...(affected.length === 0 ? {} : { entitiesAffected: affected }),
    ...(task.subTasks === undefined ? {} : { subTasks: task.subTasks.map(linked) }),
    ...(task.parentTask === undefined ? {} : { parentTask: linked(task.parentTask) }),
    ...(task.rootTask === undefined ? {} : { rootTask: linked(task.rootTask) }),
  }
}

export async function removeOld(store: Store, now: number): Promise<void> {
  const isRoot = equals(pathOf(Task, 'rootTask/extId'), null)
  const isBatch: TypedFilter = {
    kind: 'match',
    function: 'startswith',
    text: { kind: 'field', from: 0, names: ['operation'], type: 'text' },
    pattern: { kind: 'literal', value: 'BATCH-' },
  }
  await removeTasks(store, and(isRoot, not(isBatch), endedBefore(now - retentionMilliseconds)))
  await removeTasks(store, and(isRoot, isBatch, endedBefore(now - batchRetentionMilliseconds)))
  const finished = anyOf(pathOf(Task, 'status'), ended as string[])
  for (let excess = (await store.count(Task, { filter: finished })) - maximumFinished; excess > 0; ) {
    const removed = await removeTasks(store, and(isRoot, finished), Math.min(excess, removedAtOnce))
    if (removed === 0) return
    excess -= removed
  }
}

const endedBefore = (time: number): TypedFilter => compares(pathOf(Task, 'completedTime'), 'lt', formatTime(time))

async function removeTasks(store: Store, filter: TypedFilter, most?: number): Promise<number> {
  let removed = 0
  for (;;) {
    const old = (await store.find(Task, { filter, limit: most ?? removedAtOnce })).map((each) => each.extId)
    if (old.length === 0) return removed
    removed += await store.transaction(async (transaction) => {
      const parts = await transaction.find(Task, { filter: anyOf(pathOf(Task, 'rootTask/extId'), old) })
      const all = [...old, ...parts.map((part) => part.extId)]
      await transaction.removeWhere(TaskJob, anyOf(pathOf(TaskJob, 'taskExtId'), all))
      await transaction.removeWhere(Batch, anyOf(pathOf(Batch, 'extId'), old))
      await transaction.removeWhere(Task, anyOf(pathOf(Task, 'extId'), all))
      return all.length
    })
    if (most !== undefined) return removed
  }
}
