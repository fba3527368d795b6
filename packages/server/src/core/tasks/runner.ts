/**
 * Runs tasks: each step once as seen from outside, undone in reverse on failure, taken up again after a crash.
 * Everything it needs to go on is in the task's row. Source: conventions 18.3.
 */
import type { EntityOf } from '@hyperplane/contract'
import { Task } from '@hyperplane/contract/platform/task'
import { anyOf } from '../../odata/index.ts'
import type { Store, Transaction } from '../../store/store.ts'
import { RowMissing, TooManyReferrers, UniqueViolation } from '../../store/store.ts'
import { ApiError, type AppMessage, Refusal, tooManyReferrers } from '../api-error.ts'
import { type Caller, systemCaller, type World } from '../context.ts'
import { pathOf } from '../standard.ts'
import {
  type AffectedEntity,
  CancelAccepted,
  type CompletionDetail,
  DriverError,
  type RecordContext,
  type StartTask,
  type Step,
  type StepContext,
  type TaskDefinition,
  type TaskEnd,
  type TaskOptions,
} from './define-task.ts'
import { LockTable } from './locks.ts'
import { Places } from './places.ts'
import { aboutTask } from './sealed.ts'

/** What the runner keeps in a task's row, beside what clients see. */
interface Runner {
  readonly definition: string
  /** Steps that are done (or, while undoing, not yet undone). */
  readonly cursor: number
  readonly undoing?: boolean
  readonly canceling?: boolean
  readonly failure?: readonly AppMessage[]
  /** Why it goes back when it is taken up again, unless it is past its point of no return. */
  readonly interruption?: AppMessage
  /** Sealed JSON: inputs may hold secrets. */
  readonly input: string
  readonly outputs: string
  readonly locks: readonly string[]
  /** Locks of the tasks that this one is part of: they are held for it as well. */
  readonly inherited?: readonly string[]
  readonly owner: Caller
  readonly dryRun?: boolean
}

type TaskEntity = EntityOf<typeof Task> & { runner: Runner }

/** The parts of a step: its effect outside, what is written of it, and both taken back. */
export type StepPhase = 'run' | 'record' | 'undo' | 'unrecord'

export type Durations = 'instant' | 'natural'

export interface RunnerOptions<D> {
  readonly store: Store
  readonly world: World<D>
  readonly definitions: ReadonlyMap<string, TaskDefinition<D, any>>
  readonly durations: Durations
  readonly seal: (plain: string, about: string) => string
  readonly open: (sealed: string, about: string) => string
  readonly log: { error(details: object, message: string): void; warn(details: object, message: string): void }
  /** Called before each part of a step: a place for faults, and for the test that kills the process there. */
  readonly beforeStep?: (definition: string, step: string, phase: StepPhase) => void | Promise<void>
}

const concurrentTasks = 64
const retryDelays = [1000, 2000, 4000]
export const unfinished = ['QUEUED', 'RUNNING', 'CANCELING', 'SUSPENDED']

export class TaskRunner<D> {
  readonly #options: RunnerOptions<D>
  readonly #locks = new LockTable()
  /** Accepted and not begun. */
  readonly #waiting = new Set<string>()
  readonly #places = new Places(concurrentTasks)
  readonly #running = new Set<string>()
  readonly #cancelAsked = new Set<string>()
  readonly #ends = new Map<string, ((end: TaskEnd) => void)[]>()
  /** Running tasks that only wait for their sub-tasks. */
  readonly #parked = new Set<string>()
  readonly #stop = new AbortController()

  constructor(options: RunnerOptions<D>) {
    this.#options = options
  }

  /** Takes up every task that an earlier process left unfinished, in acceptance order. */
  async recover(): Promise<void> {
    const filter = anyOf(pathOf(Task, 'status'), unfinished)
    for (const found of (await this.#options.store.find(Task, { filter })) as TaskEntity[]) {
      const task = await this.#interrupted(found)
      this.#enqueue(task)
      if (task.runner.canceling === true) this.#cancelAsked.add(task.extId)
    }
    this.#pump()
  }

  /** One that cannot be taken up where it was goes back from there. */
  async #interrupted(task: TaskEntity): Promise<TaskEntity> {
    const { interruption, cursor, undoing, failure = [] } = task.runner
    const definition = this.#options.definitions.get(task.runner.definition)
    const reason = interruption ?? (definition?.endsWithProcess === true ? stoppedMeanwhile() : undefined)
    if (definition === undefined || reason === undefined || this.#isPastReturn(definition, cursor)) return task
    if (undoing === true && interruption === undefined) return task
    const { interruption: _, ...runner } = task.runner
    const why = undoing === true ? [reason, ...failure] : [reason]
    return this.#mark(task, { status: 'RUNNING', runner: { ...runner, undoing: true, failure: why } })
  }

  /** The `startTask` of a transaction; `afterCommit` runs what may only happen once the task is durable. */
  starter(transaction: Transaction, owner: Caller, afterCommit: (work: () => void) => void, dryRun = false): StartTask {
    return async (definition, input, options) => {
      const task = await this.#store(
        transaction,
        definition.name,
        input,
        options,
        options.background === true ? systemCaller(owner.tenantId) : owner,
        dryRun,
        definition.cancelableUntil !== undefined,
      )
      afterCommit(() => {
        this.#enqueue(task)
        this.#pump()
      })
      return { extId: task.extId }
    }
  }

  async #store(
    transaction: Transaction,
    definition: string,
    input: unknown,
    options: TaskOptions,
    owner: Caller,
    dryRun: boolean,
    cancelable: boolean,
  ): Promise<TaskEntity> {
    const { ids, clock } = this.#options.world
    const extId = ids.uuid()
    const now = clock.iso()
    const parent =
      options.parent === undefined
        ? undefined
        : ((await transaction.get(Task, options.parent)) as TaskEntity | undefined)
    // A part that waited for a lock of its whole would wait for ever.
    const inherited = parent === undefined ? [] : [...(parent.runner.inherited ?? []), ...parent.runner.locks]
    const wanted = dryRun ? [] : (options.locks ?? options.affected.map((entity) => entity.extId))
    const locks = wanted.filter((lock) => !inherited.includes(lock))
    const runner: Runner = {
      definition,
      cursor: 0,
      input: this.#options.seal(JSON.stringify(input ?? null), aboutTask(extId, 'input')),
      outputs: this.#options.seal('{}', aboutTask(extId, 'outputs')),
      locks,
      ...(inherited.length === 0 ? {} : { inherited }),
      owner,
      ...(dryRun ? { dryRun: true } : {}),
    }
    const rootTask = parent === undefined ? undefined : (parent.rootTask ?? { extId: parent.extId, rel: 'subtask' })
    const operation = dryRun ? `${options.operation}-dryrun` : options.operation
    const task = {
      extId,
      tenantId: owner.tenantId,
      operation,
      operationDescription: options.description ?? options.operation,
      status: 'QUEUED',
      progressPercentage: 0,
      createdTime: now,
      lastUpdatedTime: now,
      isCancelable: cancelable && !dryRun,
      isBackgroundTask: options.background ?? false,
      ownedBy: { extId: owner.extId, name: owner.name },
      entitiesAffected: options.affected.slice(0, 300),
      numberOfEntitiesAffected: options.affected.length,
      allAffected: options.affected.length > 300 ? options.affected : undefined,
      numberOfSubtasks: 0,
      clusterExtIds: options.clusterExtIds,
      completionDetails: options.completionDetails,
      appName: options.appName,
      parentTask: parent === undefined ? undefined : { extId: parent.extId, rel: 'subtask' },
      rootTask,
      runner,
    } as unknown as TaskEntity
    for (const name of Object.keys(task)) if ((task as any)[name] === undefined) delete (task as any)[name]
    await transaction.insert(Task, task as never)
    if (parent !== undefined) {
      const subTasks = [...(parent.subTasks ?? [])]
      if (subTasks.length < 100) subTasks.push({ extId, rel: 'subtask' } as never)
      const numberOfSubtasks = (parent.numberOfSubtasks ?? 0) + 1
      await transaction.observe(Task, parent.extId, { subTasks, numberOfSubtasks, lastUpdatedTime: now } as never)
    }
    return task
  }

  #enqueue({ extId, runner }: TaskEntity): void {
    this.#locks.enqueue(extId, runner.locks)
    this.#places.wait(extId, runner.owner.extId)
    this.#waiting.add(extId)
  }

  #pump(): void {
    if (this.#stop.signal.aborted) return
    // A cancelled task that has not begun only needs to be ended: nothing stands in its way.
    for (const extId of this.#cancelAsked) {
      if (!this.#waiting.has(extId)) continue
      this.#places.skip(extId)
      this.#begin(extId)
    }
    for (let next = this.#next(); next !== undefined; next = this.#next()) this.#begin(next)
  }

  #next(): string | undefined {
    return this.#places.take((extId) => this.#locks.isFree(extId))
  }

  #begin(extId: string): void {
    this.#waiting.delete(extId)
    this.#running.add(extId)
    void this.#options.world.clock
      .attend(() => this.#run(extId))
      .finally(() => {
        this.#running.delete(extId)
        this.#cancelAsked.delete(extId)
        this.#places.forget(extId)
        this.#locks.release(extId)
        this.#pump()
      })
  }

  /** Tasks that run or wait. */
  size(): number {
    return this.#running.size + this.#waiting.size
  }

  /** How many tasks wait for or hold this entity. */
  queueLength(entityExtId: string): number {
    return this.#locks.depth(entityExtId)
  }

  /**
   * Marks a cancel; the task notices at its next step, or at once when it has not begun. Call inside the transaction that
   * checked that it may.
   */
  async requestCancel(transaction: Transaction, extId: string, afterCommit: (work: () => void) => void): Promise<void> {
    const task = (await transaction.get(Task, extId)) as TaskEntity
    const runner = { ...task.runner, canceling: true }
    const status = task.status === 'QUEUED' ? task.status : 'CANCELING'
    await transaction.update(Task, extId, { status, runner, lastUpdatedTime: this.#options.world.clock.iso() } as never)
    afterCommit(() => {
      if (!this.#running.has(extId) && !this.#waiting.has(extId)) return
      this.#cancelAsked.add(extId)
      this.#pump()
    })
  }

  /** Resolves when the task has ended. */
  async untilEnded(extId: string): Promise<TaskEnd> {
    // Waits first and looks second: a task that ends in between is not missed.
    const { promise, resolve } = Promise.withResolvers<TaskEnd>()
    this.#ends.set(extId, [...(this.#ends.get(extId) ?? []), resolve])
    const task = (await this.#options.store.get(Task, extId)) as TaskEntity | undefined
    if (task === undefined) this.#ended({ extId, status: 'CANCELED' } as TaskEntity)
    else if (!unfinished.includes(task.status as string)) this.#ended(task)
    return this.#options.world.clock.rest(() => promise)
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    while (this.#running.size > 0 || this.#waiting.size > 0) {
      const [any] = [...this.#running, ...this.#waiting]
      if (any !== undefined) await this.untilEnded(any)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** No step begins any more; resolves when those under way have reached their border, or after `milliseconds` of real time. */
  async stop(milliseconds: number): Promise<void> {
    this.#stop.abort(new Stopping())
    const until = performance.now() + milliseconds
    while (this.#running.size > this.#parked.size && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  /** What breaks between steps, such as a commit or an `unrecord`: the task keeps its locks, and goes on where its row says. */
  async #run(extId: string): Promise<void> {
    for (let tries = 0; !this.#stop.signal.aborted; tries++) {
      try {
        return await this.#advance(extId)
      } catch (error) {
        if (this.#stop.signal.aborted) return
        this.#options.log.error({ err: error, task: extId }, 'a task stopped unexpectedly; it is taken up again')
        await this.#pause(1000, tries)
      }
    }
  }

  async #advance(extId: string): Promise<void> {
    const { store } = this.#options
    let task = (await store.get(Task, extId)) as TaskEntity | undefined
    if (task === undefined || !unfinished.includes(task.status as string)) return
    const definition = this.#options.definitions.get(task.runner.definition)
    if (definition === undefined) throw new Error(`no task definition ${task.runner.definition}`)
    const input = JSON.parse(this.#options.open(task.runner.input, aboutTask(extId, 'input')))
    if (task.runner.dryRun === true) return this.#plan(task, definition, input)
    if (task.startedTime === undefined && !this.#cancelAsked.has(extId)) {
      task = await this.#mark(task, { status: 'RUNNING', startedTime: this.#options.world.clock.iso() })
    }
    let tries = 0
    while (!this.#stop.signal.aborted) {
      if (task.runner.undoing === true) return this.#undo(task, definition, input)
      const step: Step<D, any> | undefined = definition.steps[task.runner.cursor]
      if (step === undefined) return
      if (this.#cancelAsked.has(extId) && this.#mayCancel(definition, task.runner.cursor)) {
        task = await this.#turnBack(task, [canceled()])
        continue
      }
      let isDoneForGood = false
      try {
        const context = this.#context(task, step.name)
        const output = await this.#runStep(context, definition, step, input)
        isDoneForGood = step.isIrreversible === true
        task = await this.#recordStep(task, context, definition, step, input, output)
        tries = 0
      } catch (error) {
        // What breaks because everything ends is no failure of the task: the next start takes it up again.
        if (error instanceof Stopping || (this.#stop.signal.aborted && !(error instanceof Refusal))) return
        if (isDoneForGood || this.#isPastReturn(definition, task.runner.cursor)) {
          this.#options.log.warn(
            { err: error, task: extId, step: step.name },
            'a step that cannot be undone failed; it is tried again',
          )
          await this.#pause(1000, tries++)
          continue
        }
        task = await this.#turnBack(task, this.#messagesOf(error, extId))
      }
    }
  }

  #mayCancel(definition: TaskDefinition<D, any>, cursor: number): boolean {
    const limit = definition.steps.findIndex((step) => step.name === definition.cancelableUntil)
    return cursor === 0 || (limit >= 0 && cursor <= limit)
  }

  #isPastReturn(definition: TaskDefinition<D, any>, cursor: number): boolean {
    const border = definition.steps.findIndex((step) => step.name === definition.pointOfNoReturn)
    return (border >= 0 && cursor >= border) || definition.steps.slice(0, cursor).some((step) => step.isIrreversible)
  }

  async #runStep(
    context: StepContext<D>,
    definition: TaskDefinition<D, any>,
    step: Step<D, any>,
    input: unknown,
  ): Promise<unknown> {
    if (step.seconds !== undefined && this.#options.durations === 'natural') await this.#linger(step.seconds)
    await this.#options.beforeStep?.(definition.name, step.name, 'run')
    return step.run === undefined ? undefined : this.#withRetries(() => step.run!(context, input))
  }

  async #recordStep(
    task: TaskEntity,
    context: StepContext<D>,
    definition: TaskDefinition<D, any>,
    step: Step<D, any>,
    input: unknown,
    output: unknown,
  ): Promise<TaskEntity> {
    const cursor = task.runner.cursor
    await this.#options.beforeStep?.(definition.name, step.name, 'record')
    this.#stop.signal.throwIfAborted()
    const isLast = cursor === definition.steps.length - 1
    const after: (() => void)[] = []
    const stored = await this.#options.store.transaction(async (transaction) => {
      const record = this.#recordContext(context, transaction, after)
      const recorded = await step.record?.(record.context, input, output)
      const kept = recorded === undefined ? output : recorded.keep
      const outputs = kept === undefined ? task.runner.outputs : this.#withOutput(task, step.name, kept)
      const current = (await transaction.get(Task, task.extId)) as TaskEntity
      const now = this.#options.world.clock.iso()
      return (await transaction.update(Task, task.extId, {
        ...record.changes(current),
        runner: withoutWork(isLast, { ...current.runner, cursor: cursor + 1, outputs }),
        progressPercentage: Math.max(current.progressPercentage ?? 0, isLast ? 100 : step.progress),
        isCancelable: isLast ? false : this.#mayCancel(definition, cursor + 1) && current.isCancelable === true,
        subSteps: [...(current.subSteps ?? []), { name: step.name }].slice(-50),
        lastUpdatedTime: now,
        ...(isLast ? { status: 'SUCCEEDED', completedTime: now } : {}),
      } as never)) as TaskEntity
    })
    for (const work of after) work()
    if (isLast) this.#ended(stored)
    return stored
  }

  async #turnBack(task: TaskEntity, failure: readonly AppMessage[]): Promise<TaskEntity> {
    return this.#mark(task, { runner: { ...task.runner, undoing: true, failure } })
  }

  /** Undoes the step under way and those before it; what fails is tried again until done. */
  async #undo(task: TaskEntity, definition: TaskDefinition<D, any>, input: unknown): Promise<void> {
    let current = task
    for (let index = Math.min(current.runner.cursor, definition.steps.length - 1); index >= 0; index--) {
      const step = definition.steps[index] as Step<D, any>
      const wasRecorded = index < current.runner.cursor
      const context = this.#context(current, step.name)
      for (let tries = 0; ; tries++) {
        if (this.#stop.signal.aborted) return
        try {
          await this.#options.beforeStep?.(definition.name, step.name, 'undo')
          await step.undo?.(context, input)
          await this.#options.beforeStep?.(definition.name, step.name, 'unrecord')
          break
        } catch (error) {
          this.#options.log.warn({ err: error, task: task.extId, step: step.name }, 'an undo failed; it is tried again')
          await this.#pause(1000, tries)
        }
      }
      const last = index === 0
      const after: (() => void)[] = []
      current = await this.#options.store.transaction(async (transaction) => {
        const record = this.#recordContext(context, transaction, after)
        if (wasRecorded) await step.unrecord?.(record.context, input)
        if (last) await definition.onUndone?.(record.context, input)
        const stored = (await transaction.get(Task, task.extId)) as TaskEntity
        const now = this.#options.world.clock.iso()
        const failure = current.runner.failure ?? []
        const wasCanceled = failure[0]?.errorGroup === 'TASK_CANCELED'
        return (await transaction.update(Task, task.extId, {
          ...record.changes(stored),
          runner: withoutWork(last, { ...stored.runner, ...current.runner, cursor: index }),
          lastUpdatedTime: now,
          ...(last
            ? {
                status: wasCanceled ? 'CANCELED' : 'FAILED',
                completedTime: now,
                isCancelable: false,
                errorMessages: failure,
                legacyErrorMessage: stored.legacyErrorMessage ?? failure[0]?.message,
                ...(stored.startedTime === undefined ? { startedTime: now } : {}),
              }
            : {}),
        } as never)) as TaskEntity
      })
      for (const work of after) work()
      if (last) this.#ended(current)
    }
  }

  async #plan(task: TaskEntity, definition: TaskDefinition<D, any>, input: unknown): Promise<void> {
    const context = this.#context(task, 'plan')
    const now = (): string => this.#options.world.clock.iso()
    let changes: Record<string, unknown>
    try {
      const plan = (await definition.plan?.(context, input)) ?? { changes: [] }
      const problems = plan.problems ?? []
      const rows = plan.changes.slice(0, 50).map((change) => ({ map: { ...change } }))
      changes = {
        status: problems.length > 0 ? 'FAILED' : 'SUCCEEDED',
        ...(problems.length > 0
          ? { errorMessages: problems, legacyErrorMessage: problems[0]?.message }
          : { progressPercentage: 100 }),
        completionDetails: [
          { name: 'dryRun', value: true },
          { name: 'changes', value: rows },
        ],
        warnings: (plan.warnings ?? []).map((message) => warning(message)),
      }
    } catch (error) {
      const messages = this.#messagesOf(error, task.extId)
      changes = { status: 'FAILED', errorMessages: messages, legacyErrorMessage: messages[0]?.message }
    }
    const runner = withoutWork(true, task.runner)
    this.#ended(
      await this.#mark(task, { ...changes, runner, startedTime: now(), completedTime: now(), isCancelable: false }),
    )
  }

  #ended(task: TaskEntity): void {
    const waiting = this.#ends.get(task.extId) ?? []
    this.#ends.delete(task.extId)
    for (const resolve of waiting) resolve(endOf(task))
  }

  async #mark(task: TaskEntity, changes: Record<string, unknown>): Promise<TaskEntity> {
    return this.#options.store.transaction(
      async (transaction) =>
        (await transaction.update(Task, task.extId, {
          ...changes,
          lastUpdatedTime: this.#options.world.clock.iso(),
        } as never)) as TaskEntity,
    )
  }

  #withOutput(task: TaskEntity, step: string, output: unknown): string {
    const about = aboutTask(task.extId, 'outputs')
    return this.#options.seal(
      JSON.stringify({ ...JSON.parse(this.#options.open(task.runner.outputs, about)), [step]: output }),
      about,
    )
  }

  #context(task: TaskEntity, step: string): StepContext<D> {
    let waits = 0
    const context: StepContext<D> = {
      ...this.#options.world,
      store: this.#options.store,
      taskExtId: task.extId,
      callKey: `${task.extId}/${step}`,
      owner: task.runner.owner,
      outputs: JSON.parse(this.#options.open(task.runner.outputs, aboutTask(task.extId, 'outputs'))),
      cancelRequested: () => this.#cancelAsked.has(task.extId),
      stopping: this.#stop.signal,
      progress: (percentage) => context.checkpoint(percentage, async () => undefined),
      checkpoint: async (percentage, write) => {
        const after: (() => void)[] = []
        await this.#options.store.transaction(async (transaction) => {
          const record = this.#recordContext(context, transaction, after)
          const reached = await write(record.context)
          if (percentage === undefined && reached === undefined && !record.said()) return
          const current = (await transaction.get(Task, task.extId)) as TaskEntity
          await transaction.update(Task, task.extId, {
            ...record.changes(current),
            ...reached,
            progressPercentage: Math.min(99, Math.max(current.progressPercentage ?? 0, Math.floor(percentage ?? 0))),
            lastUpdatedTime: this.#options.world.clock.iso(),
          } as never)
        })
        for (const work of after) work()
      },
      untilEnded: async (extIds) => {
        // A step may wait at several places at once; it is one task all the same.
        if (waits++ === 0) this.#park(task.extId)
        try {
          return await Promise.all(extIds.map((extId) => this.untilEnded(extId)))
        } finally {
          if (--waits === 0) this.#resume(task.extId)
        }
      },
    }
    return context
  }

  #park(extId: string): void {
    this.#parked.add(extId)
    this.#places.giveUp(extId)
    this.#pump()
  }

  #resume(extId: string): void {
    this.#parked.delete(extId)
    this.#places.hold(extId)
  }

  #recordContext(
    context: StepContext<D>,
    transaction: Transaction,
    after: (() => void)[],
  ): { context: RecordContext<D>; said: () => boolean; changes: (current: TaskEntity) => Record<string, unknown> } {
    const details: CompletionDetail[] = []
    const warnings: AppMessage[] = []
    const affected: AffectedEntity[] = []
    return {
      context: {
        ...context,
        store: transaction,
        startTask: this.starter(transaction, context.owner, (work) => after.push(work)),
        complete: (added) => void details.push(...added),
        warn: (message) => void warnings.push(typeof message === 'string' ? warning(message) : message),
        affect: (entity) => void affected.push(entity),
      },
      said: () => details.length + warnings.length + affected.length > 0,
      changes: (current) => {
        const all = [...((current as any).allAffected ?? current.entitiesAffected ?? []), ...affected]
        return {
          ...(details.length === 0
            ? {}
            : { completionDetails: [...(current.completionDetails ?? []), ...details].slice(0, 50) }),
          ...(warnings.length === 0 ? {} : { warnings: [...(current.warnings ?? []), ...warnings] }),
          ...(affected.length === 0
            ? {}
            : {
                entitiesAffected: all.slice(0, 300),
                numberOfEntitiesAffected: all.length,
                ...(all.length > 300 ? { allAffected: all } : {}),
              }),
        }
      },
    }
  }

  async #withRetries<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        if (
          !(error instanceof DriverError) ||
          !error.retryable ||
          attempt >= retryDelays.length ||
          this.#stop.signal.aborted
        )
          throw error
        await this.#pause(retryDelays[attempt] as number)
      }
    }
  }

  /** Waits on the world's clock; `instant` waits for no clock, but longer each time: what never succeeds must not keep a core busy. */
  async #pause(milliseconds: number, tries = 0): Promise<void> {
    const { clock } = this.#options.world
    if (this.#options.durations === 'natural') await clock.sleep(milliseconds)
    else await clock.rest(() => new Promise((resolve) => setTimeout(resolve, Math.min(2 ** tries, 1000))))
  }

  /** A log-normal duration with this median and 95th percentile. */
  async #linger([median, p95]: readonly [number, number]): Promise<void> {
    const { ids, clock } = this.#options.world
    const normal = Math.sqrt(-2 * Math.log(1 - ids.random())) * Math.cos(2 * Math.PI * ids.random())
    const seconds = median * Math.exp((normal * Math.log(p95 / median)) / 1.645)
    await clock.sleep(1000 * Math.min(Math.max(seconds, median / 3), p95))
  }

  #messagesOf(error: unknown, task: string): readonly AppMessage[] {
    if (error instanceof CancelAccepted) return [canceled(error.message)]
    if (error instanceof ApiError) return [error.appMessage, ...error.further]
    if (error instanceof DriverError) {
      if (error.appMessage !== undefined) return [error.appMessage]
      const wrapped = error.retryable
        ? new ApiError('BACKEND_TIMEOUT', { fault: error.message })
        : new ApiError('SERVICE_UNAVAILABLE', { fault: error.message })
      return [wrapped.appMessage]
    }
    if (error instanceof UniqueViolation) {
      const key = (error.error ?? 'ENTITY_ALREADY_EXISTS') as 'ENTITY_ALREADY_EXISTS'
      return [new ApiError(key, { kind: error.kind, fields: error.fields.join(' and ') }).appMessage]
    }
    if (error instanceof TooManyReferrers) return [tooManyReferrers(error).appMessage]
    if (error instanceof RowMissing) {
      return [new ApiError('CONFLICT', { fault: 'The entity was removed while the task waited or ran.' }).appMessage]
    }
    if (error instanceof Refusal) return [new ApiError('CONFLICT', { fault: error.message }).appMessage]
    this.#options.log.error({ err: error, task }, 'a task step failed unexpectedly')
    return [new ApiError('INTERNAL_ERROR', { requestId: task }).appMessage]
  }
}

/** Why a task is being undone; for its `onUndone`, where its row does not say so yet. */
export const failureOf = (task: unknown): string | undefined => (task as TaskEntity).runner.failure?.[0]?.message

/**
 * For one who hands unfinished tasks to another service: how the row of each must stand so that it goes back there, for this
 * reason. `ends`: it ends where it is, and nothing of it is taken back; a dry run always does.
 */
export function interruptedTask(
  task: unknown,
  reason: AppMessage,
  now: string,
  ends: (definition: string) => boolean,
): Record<string, unknown> {
  const { runner, startedTime = now } = task as TaskEntity
  if (runner.dryRun !== true && !ends(runner.definition))
    return { runner: { ...runner, interruption: reason }, lastUpdatedTime: now }
  return {
    status: 'FAILED',
    startedTime,
    completedTime: now,
    lastUpdatedTime: now,
    isCancelable: false,
    errorMessages: [reason],
    legacyErrorMessage: reason.message,
    runner: withoutWork(true, runner),
  }
}

/** How the row of a task stands that has done all that it was for. */
export function succeededTask(task: unknown, now: string): Record<string, unknown> {
  const { runner } = task as TaskEntity
  return {
    status: 'SUCCEEDED',
    progressPercentage: 100,
    completedTime: now,
    lastUpdatedTime: now,
    isCancelable: false,
    runner: withoutWork(true, runner),
  }
}

const stoppedMeanwhile = (): AppMessage =>
  new ApiError('SERVICE_UNAVAILABLE', { fault: 'The service was stopped before this could end; start it again.' })
    .appMessage

class Stopping extends Error {}

/** Nothing needs the input and outputs of a task that has ended, and they may hold secrets: they go with its last step. */
function withoutWork(hasEnded: boolean, runner: Runner): Partial<Runner> {
  if (!hasEnded) return runner
  const { input: _, outputs: __, ...kept } = runner
  return kept
}

const endOf = (task: TaskEntity): TaskEnd => ({
  extId: task.extId,
  status: task.status as string,
  errorMessages: (task.errorMessages ?? []) as readonly AppMessage[],
  entitiesAffected: ((task as any).allAffected ?? task.entitiesAffected ?? []) as readonly AffectedEntity[],
})

const canceled = (message = ''): AppMessage => ({
  message: message === '' ? 'The task was cancelled as requested; what it had done was undone.' : message,
  severity: 'ERROR',
  code: 'TSKS-20905',
  locale: 'en_US',
  errorGroup: 'TASK_CANCELED',
})

const warning = (message: string): AppMessage => ({
  message,
  severity: 'WARNING',
  code: 'TSKS-20906',
  locale: 'en_US',
  errorGroup: 'TASK_WARNING',
})
