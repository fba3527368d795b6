/** Chunks in sequence, elements concurrently. Fixed request ids replay elements after a restart. Source: conventions 20; platform.md 3. */

import type { Operation } from '@hyperplane/contract'
import { Task } from '@hyperplane/contract/platform/task'
import { ApiError, type AppMessage, ShapeRefusal } from '../../core/api-error.ts'
import { Semaphore } from '../../core/concurrency/semaphore.ts'
import { derivedId } from '../../core/ids/named-id.ts'
import { RefusedRequest } from '../../core/pipeline/request.ts'
import type { Reply } from '../../core/reply.ts'
import type { Services } from '../../core/world.ts'
import { type AffectedEntity, CancelAccepted, defineTask } from '../context.ts'
import { complete, type Job, Journal, jobsOf, type Result, type Run } from './batch-journal.ts'
import type { Element } from './batch-spec.ts'

export interface BatchInput {
  readonly method: string
  readonly query: string
  readonly chunkSize: number
  readonly shouldStopOnError: boolean
  readonly unknown: 'refuse' | 'ignore'
}

/** Elements that run at once, over all batches: leaves capacity for other requests. */
const elementsAtOnce = 32
const slotsOf = new WeakMap<Services, Semaphore>()

export const runBatch = defineTask<BatchInput>({
  name: 'platform.run-batch',
  cancelableUntil: 'run elements',
  recordsSubtasks: true,
  steps: [
    {
      name: 'run elements',
      run: runElements,
      record: (ctx) => complete(ctx),
      // No undo: the effects of elements stay, as if they had been sent one by one.
    },
  ],
  onUndone: (ctx) => complete(ctx),
})

async function runElements(ctx: Run, input: BatchInput): Promise<void> {
  const jobs = await jobsOf(ctx.store, ctx.taskExtId)
  const journal = new Journal(ctx, jobs, await affectedOf(ctx))
  const isStaged = mayStage(ctx, input, jobs[0])
  const ending: Promise<void>[] = []
  let rest: 'BATCH_STOPPED' | 'BATCH_CANCELED' | undefined
  for (let start = 0; start < jobs.length && rest === undefined; start += input.chunkSize) {
    const chunk = jobs.slice(start, start + input.chunkSize)
    const pending = chunk.filter((job) => job.status === 'PENDING')
    await Promise.all(pending.map((job) => runJob(ctx, input, job, journal, isStaged, ending)))
    if (ctx.cancelRequested()) rest = 'BATCH_CANCELED'
    else if (input.shouldStopOnError && chunk.some((job) => journal.hasFailed(job))) rest = 'BATCH_STOPPED'
  }
  await Promise.all(ending)
  if (rest !== undefined) for (const job of jobs) if (!journal.isFinished(job)) journal.finish(job, skippedResult(rest))
  await journal.written()
  const { failed, canceled } = journal
  if (canceled) throw new CancelAccepted('The batch was cancelled as requested; what its elements had done stays.')
  if (failed > 0) throw new ApiError('TASK_LEGACY_ERROR', { fault: `${failed} of ${jobs.length} elements failed` })
}

/** The next element may begin before this one is durable. Not in iam: authorization reads committed rows only. */
function mayStage(ctx: Run, { method }: BatchInput, job: Job | undefined): boolean {
  if (job?.status !== 'PENDING') return false
  const route = ctx.services.router.route(method, elementOf(ctx, job).path)
  return route.found === 'operation' && route.namespace.name !== 'iam'
}

const elementOf = (ctx: Run, job: Job): Element =>
  JSON.parse(ctx.secrets.open('TaskJob', job.extId, 'element', job.element) ?? '{}')

/** From an earlier run, before a restart. */
async function affectedOf(ctx: Run): Promise<readonly AffectedEntity[]> {
  const task = (await ctx.store.get(Task, ctx.taskExtId)) as
    | { allAffected?: AffectedEntity[]; entitiesAffected?: AffectedEntity[] }
    | undefined
  return task?.allAffected ?? task?.entitiesAffected ?? []
}

/** Resolves when the next chunk may begin. Tasks that still run then are added to `ending`. */
async function runJob(
  ctx: Run,
  input: BatchInput,
  job: Job,
  journal: Journal,
  isStaged: boolean,
  ending: Promise<void>[],
): Promise<void> {
  let slots = slotsOf.get(ctx.services)
  if (slots === undefined) slotsOf.set(ctx.services, (slots = new Semaphore(elementsAtOnce)))
  let taskExtId = job.elementTaskExtId
  if (taskExtId === undefined) {
    const result = await slots.use(async () => {
      ctx.stopping.throwIfAborted()
      return ctx.cancelRequested() ? skippedResult('BATCH_CANCELED') : send(ctx, input, job, isStaged)
    })
    if (result.taskExtId === undefined) return journal.finish(job, result)
    taskExtId = result.taskExtId
    journal.accepted(job, taskExtId)
    await result.durable
    // A cancel request that came during the dispatch found no task to cancel.
    if (ctx.cancelRequested()) await cancelPart(ctx, taskExtId)
  }
  const { promise: isWritten, resolve: written } = Promise.withResolvers<void>()
  const hasEnded = finishWithTask(ctx, job, taskExtId, journal, written)
  // Prevents an unhandled rejection: the caller sees the error when it awaits `ending`.
  hasEnded.catch(() => undefined)
  ending.push(hasEnded)
  await (isStaged ? Promise.race([isWritten, hasEnded]) : hasEnded)
}

async function finishWithTask(
  ctx: Run,
  job: Job,
  taskExtId: string,
  journal: Journal,
  written: () => void,
): Promise<void> {
  const [end] = await ctx.untilEnded([taskExtId], written)
  journal.finish(job, {
    httpStatus: 202,
    taskExtId,
    affected: end?.entitiesAffected ?? [],
    errors: end?.status === 'SUCCEEDED' ? [] : (end?.errorMessages ?? []),
    warnings: [],
  })
}

async function cancelPart(ctx: Run, taskExtId: string): Promise<void> {
  const after: (() => void)[] = []
  await ctx.checkpoint(0, async ({ store }) => {
    const part = await store.get(Task, taskExtId)
    if (part?.isCancelable === true)
      await ctx.services.runner.requestCancel(store, taskExtId, (work) => after.push(work))
  })
  for (const work of after) work()
}

async function send(ctx: Run, input: BatchInput, job: Job, isStaged: boolean): Promise<Result> {
  const element = elementOf(ctx, job)
  const requestId = element.requestId ?? derivedId('batch', ctx.taskExtId, job.name as string)
  try {
    const { reply, operation, durable } = await ctx.services.dispatch({
      method: input.method,
      path: element.path,
      query: input.query,
      headers: {
        requestId,
        ...(element.ifMatch === undefined ? {} : { ifMatch: element.ifMatch }),
        ...(element.clusterId === undefined ? {} : { clusterId: element.clusterId }),
      },
      address: 'batch',
      profile: 'spec',
      unknown: input.unknown,
      onBehalfOf: {
        caller: ctx.owner,
        body: element.data,
        requestId,
        parentTask: ctx.taskExtId,
        index: Number(job.name),
        isStaged,
      },
    })
    const started = reply.status === 202 ? (reply.data as { extId?: string } | undefined)?.extId : undefined
    return {
      httpStatus: reply.status,
      ...(started === undefined ? {} : { taskExtId: started }),
      affected: operation === undefined ? [] : affectedBy(ctx, operation, input.method, element.path, reply),
      errors: [],
      warnings: reply.warnings ?? [],
      ...(durable === undefined ? {} : { durable }),
    }
  } catch (error) {
    ctx.stopping.throwIfAborted()
    const refusal = error instanceof RefusedRequest ? error.refusal : error
    return { httpStatus: statusOf(refusal), affected: [], errors: messagesOf(refusal, requestId), warnings: [] }
  }
}

function affectedBy(ctx: Run, operation: Operation, method: string, path: string, reply: Reply): AffectedEntity[] {
  if (operation.resource === undefined) return []
  const data = reply.data as { extId?: string; name?: unknown } | undefined
  const route = ctx.services.router.route(method, path)
  const target =
    route.found === 'operation' && operation.target !== undefined ? route.path[operation.target] : undefined
  const extId = operation.verb === 'create' ? data?.extId : target
  if (extId === undefined) return []
  return [
    {
      extId: extId.toLowerCase(),
      ...(typeof data?.name === 'string' ? { name: data.name } : {}),
      rel: operation.resource.rel,
    },
  ]
}

const skippedResult = (key: 'BATCH_STOPPED' | 'BATCH_CANCELED'): Result => ({
  affected: [],
  errors: [new ApiError(key).appMessage],
  warnings: [],
})

const statusOf = (refusal: unknown): number =>
  refusal instanceof ApiError || refusal instanceof ShapeRefusal ? refusal.status : 500

function messagesOf(refusal: unknown, requestId: string): readonly AppMessage[] {
  if (refusal instanceof ApiError) return [refusal.appMessage, ...refusal.further]
  if (refusal instanceof ShapeRefusal) {
    return refusal.faults.map(
      (fault) =>
        new ApiError('INVALID_ARGUMENT', { attributePath: fault.attributePath, fault: fault.message }).appMessage,
    )
  }
  return [new ApiError('INTERNAL_ERROR', { requestId }).appMessage]
}
