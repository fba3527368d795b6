/** Results of batch elements, written as elements finish, in few transactions. Source: behaviour conventions 20. */

import type { EntityOf } from '@hyperplane/contract'
import { Batch } from '@hyperplane/contract/platform/batch'
import { Task } from '@hyperplane/contract/platform/task'
import { TaskJob } from '@hyperplane/contract/platform/task-job'
import { ApiError, type AppMessage } from '../../core/api-error.ts'
import { subtasksOf } from '../../core/tasks/runner.ts'
import type { Reader } from '../../store/store.ts'
import type { AffectedEntity, RecordContext, StepContext, TaskChanges } from '../context.ts'

export type Job = EntityOf<typeof TaskJob>
export type Run = StepContext

export const jobsOf = (store: Reader, taskExtId: string): Promise<Job[]> => store.findWhere(TaskJob, { taskExtId })

export interface Result {
  readonly httpStatus?: number
  readonly taskExtId?: string
  readonly affected: readonly AffectedEntity[]
  readonly errors: readonly AppMessage[]
  readonly warnings: readonly string[]
  /** Resolves when an effect that is applied already is durable. */
  readonly durable?: Promise<void>
}

/** Up to this many staged results share a write: separate writes would split the group commit of their effects. */
const staged = 32

/** Summaries per batch: the task's row is too long to be written with each element. */
const summaries = 50

const partOf = ({ elementTaskExtId, completionDetails = [] }: Job): string | undefined =>
  elementTaskExtId ?? (completionDetails.find(({ name }) => name === 'taskExtId')?.value as string | undefined)

const nameOf = ({ rel, extId }: AffectedEntity): string => `${rel}/${extId}`

const canceledCode = new ApiError('BATCH_CANCELED').appMessage.code
const isCanceled = (errors: readonly { readonly code?: string; readonly errorGroup?: string }[]): boolean =>
  errors.some((error) => error.code === canceledCode || error.errorGroup === 'TASK_CANCELED')

/** In the background: results that arrive during a write share the next transaction, and elements never wait. */
export class Journal {
  readonly #ctx: Run
  readonly #jobs: readonly Job[]
  readonly #parts = new Map<string, string>()
  readonly #failedJobs = new Set<string>()
  readonly #finished = new Set<string>()
  readonly #listed = new Set<string>()
  #queue: Job[] = []
  #isUrgent = false
  #effects: Promise<void>[] = []
  readonly #affected: AffectedEntity[] = []
  #summarized = 0
  #writing: Promise<void> = Promise.resolve()
  #isWriting = false
  #failure: unknown
  canceled = false

  constructor(ctx: Run, jobs: readonly Job[], listed: readonly AffectedEntity[]) {
    this.#ctx = ctx
    this.#jobs = jobs
    for (const entity of listed) this.#listed.add(nameOf(entity))
    for (const job of jobs) {
      const part = partOf(job)
      if (part !== undefined) this.#parts.set(job.extId, part)
      if (job.status === 'PENDING') continue
      this.#finished.add(job.extId)
      if (job.status === 'FAILED') this.#failedJobs.add(job.extId)
      if (isCanceled(job.errorMessages ?? [])) this.canceled = true
      this.#affect((job.entitiesAffected ?? []) as readonly AffectedEntity[])
    }
  }

  get failed(): number {
    return this.#failedJobs.size
  }

  hasFailed(job: Job): boolean {
    return this.#failedJobs.has(job.extId)
  }

  isFinished(job: Job): boolean {
    return this.#finished.has(job.extId)
  }

  accepted(job: Job, elementTaskExtId: string): void {
    this.#parts.set(job.extId, elementTaskExtId)
    this.#queue.push({ ...job, elementTaskExtId })
    this.#write(true)
  }

  finish(job: Job, result: Result): void {
    const hasFailed = result.errors.length > 0
    this.#finished.add(job.extId)
    if (hasFailed) this.#failedJobs.add(job.extId)
    if (isCanceled(result.errors)) this.canceled = true
    const { element: _, elementTaskExtId: __, ...jobFields } = job
    const entityExtId = result.affected[0]?.extId
    this.#affect(result.affected)
    if (result.durable !== undefined) this.#effects.push(result.durable)
    this.#queue.push({
      ...jobFields,
      status: hasFailed ? 'FAILED' : 'SUCCEEDED',
      completedTime: this.#ctx.clock.iso(),
      completionDetails: [
        ...(result.httpStatus === undefined ? [] : [{ name: 'httpStatus', value: result.httpStatus }]),
        ...(result.taskExtId === undefined ? [] : [{ name: 'taskExtId', value: result.taskExtId }]),
        ...(entityExtId === undefined ? [] : [{ name: 'entityExtId', value: entityExtId }]),
      ],
      ...(result.affected.length === 0 ? {} : { entitiesAffected: [...result.affected] }),
      ...(hasFailed ? { errorMessages: [...result.errors] } : {}),
      ...(result.warnings.length === 0 ? {} : { warnings: result.warnings.map(warningOf) }),
    })
    this.#write(result.durable === undefined)
  }

  /** Resolves when all results so far are durable. @throws the error that prevented it */
  async written(): Promise<void> {
    this.#write(true)
    await this.#writing
    if (this.#failure !== undefined) throw this.#failure
  }

  #affect(entities: readonly AffectedEntity[]): void {
    for (const entity of entities) {
      if (!this.#listed.has(nameOf(entity))) this.#affected.push(entity)
      this.#listed.add(nameOf(entity))
    }
  }

  #write(isUrgent: boolean): void {
    this.#isUrgent ||= isUrgent
    if (this.#isWriting || !this.#isDue()) return
    this.#isWriting = true
    this.#writing = this.#drain().catch((error) => {
      this.#failure ??= error
    })
  }

  #isDue(): boolean {
    return this.#queue.length >= staged || (this.#isUrgent && this.#queue.length > 0)
  }

  async #drain(): Promise<void> {
    try {
      while (this.#isDue()) {
        const [jobs, effects] = [this.#queue, this.#effects]
        this.#queue = []
        this.#effects = []
        this.#isUrgent = false
        await Promise.all(effects)
        const finished = this.#finished.size
        const { failed } = this
        const size = this.#jobs.length
        const isDue = finished === size || finished - this.#summarized >= size / summaries
        await this.#ctx.checkpoint(isDue ? (100 * finished) / size : undefined, async (record) => {
          for (const job of jobs) await record.store.replace(TaskJob, job)
          if (!isDue) return undefined
          for (const entity of this.#affected.splice(0)) record.affect(entity)
          const parts = this.#jobs.flatMap((job) => this.#parts.get(job.extId) ?? [])
          return summarize(record, size, finished - failed, failed, parts)
        })
        if (isDue) this.#summarized = finished
      }
    } finally {
      this.#isWriting = false
    }
  }
}

async function summarize(
  record: RecordContext,
  size: number,
  successCount: number,
  failedCount: number,
  parts: readonly string[],
): Promise<TaskChanges> {
  await record.store.observe(Batch, record.taskExtId, { successCount, failedCount })
  return {
    batchSummary: { numberOfJobs: size, numberOfJobsSuccessful: successCount, numberOfJobsFailed: failedCount },
    ...(parts.length === 0 ? {} : subtasksOf(parts)),
  }
}

/** Runs in the transaction that ends the task. Jobs are PENDING if it was cancelled before it began. */
export async function complete(ctx: RecordContext): Promise<void> {
  const message = new ApiError('BATCH_CANCELED').appMessage
  const jobs: Job[] = []
  for (const job of await jobsOf(ctx.store, ctx.taskExtId)) {
    const { element: _, ...rest } = job
    const canceled = { ...rest, status: 'FAILED' as const, completedTime: ctx.clock.iso(), errorMessages: [message] }
    jobs.push(job.status === 'PENDING' ? await ctx.store.replace(TaskJob, canceled) : job)
  }
  const failed = jobs.filter((job) => job.status === 'FAILED')
  const parts = jobs.flatMap((job) => partOf(job) ?? [])
  const changes = await summarize(ctx, jobs.length, jobs.length - failed.length, failed.length, parts)
  await ctx.store.observe(Batch, ctx.taskExtId, {
    executionStatus: 'COMPLETED',
    completionStatus: completionOf(jobs.length, failed),
    endTime: ctx.clock.iso(),
  })
  // Clients of the older interface expect this exact text.
  const legacyErrorMessage = failed.length === 0 ? {} : { legacyErrorMessage: `${failed.length} subtask has failed.` }
  await ctx.store.observe(Task, ctx.taskExtId, { ...changes, ...legacyErrorMessage })
}

function completionOf(
  size: number,
  failed: readonly Job[],
): 'SUCCEEDED' | 'FAILED' | 'PARTIALLY_SUCCEEDED' | 'CANCELLED' {
  if (failed.some((job) => isCanceled(job.errorMessages ?? []))) return 'CANCELLED'
  if (failed.length === 0) return 'SUCCEEDED'
  return failed.length === size ? 'FAILED' : 'PARTIALLY_SUCCEEDED'
}

const warningOf = (message: string): AppMessage => ({
  message,
  severity: 'WARNING',
  code: 'PLAT-10000',
  locale: 'en_US',
  errorGroup: 'WARNING',
})
