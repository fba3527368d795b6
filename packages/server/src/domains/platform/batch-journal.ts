/**
 * What came of the elements of a batch: written as they finish, in few transactions, and summed up at the end.
 * Source: behaviour conventions 20 (results).
 */
import type { EntityOf } from '@hyperplane/contract'
import { Batch } from '@hyperplane/contract/platform/batch'
import { Task } from '@hyperplane/contract/platform/task'
import { TaskJob } from '@hyperplane/contract/platform/task-job'
import { ApiError, type AppMessage } from '../../core/api-error.ts'
import type { AffectedEntity, RecordContext, StepContext, TaskChanges } from '../../core/tasks/define-task.ts'
import { subtasksOf } from '../../core/tasks/runner.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Reader } from '../../store/store.ts'

export type Job = EntityOf<typeof TaskJob>
export type Run = StepContext<Drivers>

/** Jobs in the order of their elements. */
export const jobsOf = (store: Reader, taskExtId: string): Promise<Job[]> => store.findWhere(TaskJob, { taskExtId })

/** What came of an element. */
export interface Result {
  readonly httpStatus?: number
  readonly taskExtId?: string
  readonly affected: readonly AffectedEntity[]
  readonly errors: readonly AppMessage[]
  readonly warnings: readonly string[]
  /** Its effect is applied, and durable when this resolves. */
  readonly durable?: Promise<void>
}

/** Results whose effects are not durable yet are written so many at once: their commits are not cut short by each of them. */
const staged = 32

/** Counts and affected entities are written so often over a batch, not with each element: the task's row is long. */
const summaries = 50

/** The task that an element became: while it runs the job says so itself, afterwards its details do. */
const partOf = ({ elementTaskExtId, completionDetails = [] }: Job): string | undefined =>
  elementTaskExtId ?? (completionDetails.find(({ name }) => name === 'taskExtId')?.value as string | undefined)

const nameOf = ({ rel, extId }: AffectedEntity): string => `${rel}/${extId}`

const canceledCode = new ApiError('BATCH_CANCELED').appMessage.code
const isCanceled = (errors: readonly { readonly code?: string; readonly errorGroup?: string }[]): boolean =>
  errors.some((error) => error.code === canceledCode || error.errorGroup === 'TASK_CANCELED')

/**
 * Writes results as they come: all that came while the last were being written go into one transaction, now and then with
 * the counts of batch and task. Elements never wait for it.
 */
export class Journal {
  readonly #ctx: Run
  readonly #jobs: readonly Job[]
  /** Tasks that elements became, by job. */
  readonly #parts = new Map<string, string>()
  readonly #failedJobs = new Set<string>()
  readonly #finished = new Set<string>()
  readonly #known = new Set<string>()
  #queue: Job[] = []
  /** What the queue tells may not wait for more. */
  #isUrgent = false
  /** Commits of the effects that the queue tells of. */
  #effects: Promise<void>[] = []
  /** Touched by finished elements, and not told by the task yet. */
  readonly #affected: AffectedEntity[] = []
  #summarized = 0
  #writing: Promise<void> = Promise.resolve()
  #isWriting = false
  #failure: unknown
  canceled = false

  /** `told`: entities that the task names already. */
  constructor(ctx: Run, jobs: readonly Job[], told: readonly AffectedEntity[]) {
    this.#ctx = ctx
    this.#jobs = jobs
    for (const entity of told) this.#known.add(nameOf(entity))
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

  /** An element goes on as a task of its own. */
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
    const { element: _, elementTaskExtId: __, ...kept } = job
    const entityExtId = result.affected[0]?.extId
    this.#affect(result.affected)
    if (result.durable !== undefined) this.#effects.push(result.durable)
    this.#queue.push({
      ...kept,
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

  /** Resolves when everything that came so far is durable. @throws what kept it from being so */
  async written(): Promise<void> {
    this.#write(true)
    await this.#writing
    if (this.#failure !== undefined) throw this.#failure
  }

  #affect(entities: readonly AffectedEntity[]): void {
    for (const entity of entities) {
      if (!this.#known.has(nameOf(entity))) this.#affected.push(entity)
      this.#known.add(nameOf(entity))
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
  record: RecordContext<Drivers>,
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

/** The end of a batch, with the end of its task. A cancel that came before the first element finds jobs not begun. */
export async function complete(ctx: RecordContext<Drivers>): Promise<void> {
  const jobs = await jobsOf(ctx.store, ctx.taskExtId)
  const message = new ApiError('BATCH_CANCELED').appMessage
  for (const job of jobs.filter(({ status }) => status === 'PENDING')) {
    Object.assign(job, { status: 'FAILED', completedTime: ctx.clock.iso(), errorMessages: [message] })
    delete (job as { element?: unknown }).element
    await ctx.store.replace(TaskJob, job)
  }
  const failed = jobs.filter((job) => job.status === 'FAILED')
  const parts = jobs.flatMap((job) => partOf(job) ?? [])
  const changes = await summarize(ctx, jobs.length, jobs.length - failed.length, failed.length, parts)
  await ctx.store.observe(Batch, ctx.taskExtId, {
    executionStatus: 'COMPLETED',
    completionStatus: completionOf(jobs.length, failed),
    endTime: ctx.clock.iso(),
  })
  // Kept for clients of the older interface, word for word.
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
