/** Steps take effect once, are undone in reverse on failure, and resume from the task's row after a crash. Source: conventions 18.3. */

import { Task } from '@hyperplane/contract/platform/task'
import { anyOf } from '../../odata/index.ts'
import { diskFault } from '../../store/disk-fault.ts'
import type { Transaction } from '../../store/store.ts'
import { type Caller, type Ids, systemCaller } from '../caller.ts'
import type { Tasks } from '../ports.ts'
import { pathOf } from '../standard.ts'
import { acceptTask } from './accept.ts'
import type { Begin, StartTask, TaskEnd, TaskStarter } from './define-task.ts'
import { dryRunTask } from './dry-run.ts'
import { TaskEnds } from './ends.ts'
import { LockTable } from './locks.ts'
import { Pace } from './pace.ts'
import type { RunnerOptions } from './runner-options.ts'
import { inputOf } from './sealed.ts'
import { StepContexts, Stopping } from './step-context.ts'
import { StepRuns } from './step-run.ts'
import { type ParentTask, parentTaskOf } from './subtasks.ts'
import { TaskExecution } from './task-execution.ts'
import { rollbackOfInterrupted } from './task-rollback.ts'
import { faultyTask, isUnfinished, mark, marking, type TaskEntity, unfinished, updateTask } from './task-row.ts'
import { TaskSlots } from './task-slots.ts'

export { interruptedTask, succeededTask } from './ends.ts'
export type { Durations } from './pace.ts'
export type { RunnerOptions, StepPhase } from './runner-options.ts'
export { subtasksOf } from './subtasks.ts'
export { failureOf, unfinished } from './task-row.ts'

const concurrentTasks = 64

interface AcceptedTask {
  readonly task: TaskEntity
  readonly input: unknown
  readonly durable: Promise<void>
}

export class TaskRunner<D> implements Tasks, TaskStarter {
  readonly #options: RunnerOptions<D>
  readonly #locks = new LockTable()
  readonly #parentTasks = new Map<string, ParentTask>()
  readonly #waiting = new Set<string>()
  /** Readers of the store do not see tasks whose acceptance is not durable yet. */
  readonly #notDurable = new Map<string, AcceptedTask>()
  readonly #slots = new TaskSlots(concurrentTasks)
  readonly #running = new Set<string>()
  readonly #cancelRequests = new Set<string>()
  readonly #parked = new Set<string>()
  readonly #stop = new AbortController()
  readonly #pace: Pace
  readonly #ends: TaskEnds
  readonly #contexts: StepContexts<D>
  readonly #execution: TaskExecution<D>

  constructor(options: RunnerOptions<D>) {
    const { store, world, durations } = options
    const requests = { cancelRequests: this.#cancelRequests, stopping: this.#stop.signal }
    const slotRelease = { park: (extId: string) => this.#park(extId), resume: (extId: string) => this.#resume(extId) }
    const pace = new Pace(world.clock, durations, this.#stop.signal)
    const ends = new TaskEnds(store, world.clock)
    const contexts = new StepContexts<D>({
      ...requests,
      store,
      world,
      seals: options,
      ends,
      slotRelease,
      starter: (transaction, owner, afterCommit, ids) => this.starter(transaction, owner, afterCommit, false, ids),
    })
    const stepRuns = new StepRuns(options, pace, slotRelease)
    this.#options = options
    this.#pace = pace
    this.#ends = ends
    this.#contexts = contexts
    this.#execution = new TaskExecution(options, { contexts, stepRuns, pace, ends }, requests)
  }

  async recover(): Promise<void> {
    const { store, definitions, world } = this.#options
    const filter = anyOf(pathOf(Task, 'status'), unfinished)
    for (const interrupted of (await store.find(Task, { filter })) as TaskEntity[]) {
      const rollback = rollbackOfInterrupted(interrupted, definitions.get(interrupted.runner.definition))
      const task = rollback === undefined ? interrupted : await mark(store, interrupted, rollback, world.clock)
      this.#enqueue(task)
      if (task.runner.canceling === true) this.#cancelRequests.add(task.extId)
    }
    this.#startReady()
  }

  starter(
    transaction: Transaction,
    owner: Caller,
    afterwards: (begin: Begin) => void,
    dryRun = false,
    ids: Ids = this.#options.world.ids,
  ): StartTask {
    return async (definition, input, options) => {
      const request = {
        definition,
        input,
        options,
        owner: options.background === true ? systemCaller(owner.tenantId) : owner,
        isDryRun: dryRun,
        parentTask: options.parent === undefined ? undefined : this.#parentTasks.get(options.parent),
      }
      const task = await acceptTask(transaction, request, this.#options.world.clock, ids, this.#options)
      afterwards((accepted) => {
        if (accepted !== undefined) this.#keepUntilDurable({ task, input, durable: accepted })
        this.#enqueue(task)
        this.#startReady()
      })
      return { extId: task.extId }
    }
  }

  #keepUntilDurable(accepted: AcceptedTask): void {
    const { extId } = accepted.task
    const input = JSON.parse(JSON.stringify(accepted.input ?? null))
    this.#notDurable.set(extId, { ...accepted, input })
    const forget = (): void => void this.#notDurable.delete(extId)
    accepted.durable.then(forget, forget)
  }

  #enqueue(task: TaskEntity): void {
    const { extId, runner } = task
    const recordsSubtasks = this.#options.definitions.get(runner.definition)?.recordsSubtasks === true
    this.#parentTasks.set(extId, parentTaskOf(task, recordsSubtasks))
    this.#locks.enqueue(extId, runner.locks)
    this.#slots.wait(extId, runner.owner.extId)
    this.#waiting.add(extId)
  }

  #startReady(): void {
    if (this.#stop.signal.aborted) return
    // A cancelled task that has not started needs neither slot nor locks to end.
    for (const extId of this.#cancelRequests) {
      if (!this.#waiting.has(extId)) continue
      this.#slots.bypass(extId)
      this.#begin(extId)
    }
    for (let next = this.#next(); next !== undefined; next = this.#next()) this.#begin(next)
  }

  #next(): string | undefined {
    return this.#slots.take((extId) => this.#locks.isFree(extId))
  }

  #begin(extId: string): void {
    this.#waiting.delete(extId)
    this.#running.add(extId)
    void this.#options.world.clock
      .track(() => this.#run(extId))
      .finally(() => {
        this.#running.delete(extId)
        this.#parentTasks.delete(extId)
        this.#contexts.forget(extId)
        this.#cancelRequests.delete(extId)
        this.#slots.forget(extId)
        this.#locks.release(extId)
        this.#startReady()
      })
  }

  /** After an error between steps (a commit, an `unrecord`) the task keeps its locks and resumes where its row says. */
  async #run(extId: string): Promise<void> {
    for (let tries = 0; !this.#stop.signal.aborted; tries++) {
      try {
        return await this.#resumeFromRow(extId)
      } catch (error) {
        if (this.#stop.signal.aborted) return
        // A full disk fails every try of every task: log it once.
        if (tries === 0 || diskFault(error) === undefined)
          this.#options.log.error(
            { err: error, task: extId },
            'a task failed unexpectedly; it resumes where its row says',
          )
        await this.#pace.pause(1000, tries)
      }
    }
  }

  async #resumeFromRow(extId: string): Promise<void> {
    const { store, world, log } = this.#options
    const accepted = this.#notDurable.get(extId)
    const task = accepted?.task ?? ((await store.get(Task, extId)) as TaskEntity | undefined)
    if (task === undefined || !isUnfinished(task)) return
    const definition = this.#options.definitions.get(task.runner.definition)
    if (definition === undefined) throw new Error(`no task definition ${task.runner.definition}`)
    const input = accepted === undefined ? inputOf(this.#options, task) : accepted.input
    if (task.runner.dryRun !== true) return this.#execution.run(task, definition, input, accepted?.durable)
    await accepted?.durable
    const { changes, keep } = await dryRunTask(task, definition, input, this.#contexts.of(task, 'plan'), log)
    const ended = await store.transaction(async (transaction) => {
      await keep?.(transaction)
      return marking(task, changes, world.clock)(transaction)
    })
    this.#ends.notify(ended)
  }

  #park(extId: string): void {
    this.#parked.add(extId)
    this.#slots.release(extId)
    this.#startReady()
  }

  #resume(extId: string): void {
    this.#parked.delete(extId)
    this.#slots.hold(extId)
  }

  size(): number {
    return this.#running.size + this.#waiting.size
  }

  queueLength(entityExtId: string): number {
    return this.#locks.queue(entityExtId).length
  }

  queueAhead(entityExtId: string): number {
    return this.#locks.queue(entityExtId).filter((task) => !this.#ends.isWritten(task)).length
  }

  async requestCancel(transaction: Transaction, extId: string, afterCommit: (work: () => void) => void): Promise<void> {
    const task = (await transaction.get(Task, extId)) as TaskEntity
    const isIgnored = this.#options.faults?.ignoresCancel(faultyTask(task)) === true
    const runner = isIgnored ? task.runner : { ...task.runner, canceling: true }
    const status = task.status === 'QUEUED' ? task.status : 'CANCELING'
    await updateTask(transaction, extId, { status, runner, lastUpdatedTime: this.#options.world.clock.iso() })
    afterCommit(() => {
      if (isIgnored || (!this.#running.has(extId) && !this.#waiting.has(extId))) return
      this.#cancelRequests.add(extId)
      this.#startReady()
    })
  }

  untilEnded(extId: string): Promise<TaskEnd> {
    return this.#ends.until(extId)
  }

  async idle(): Promise<void> {
    while (this.#running.size > 0 || this.#waiting.size > 0) {
      const [extId] = [...this.#running, ...this.#waiting]
      if (extId !== undefined) await this.untilEnded(extId)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Waits for running steps, at most `milliseconds` of real time. */
  async stop(milliseconds: number): Promise<void> {
    this.#stop.abort(new Stopping())
    const until = performance.now() + milliseconds
    while (this.#running.size > this.#parked.size && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
}
