/**
 * Runs tasks: each step once as seen from outside, undone in reverse on failure, taken up again after a crash.
 * Everything it needs to go on is in the task's row. Here stands which tasks are accepted, taken up, cancelled and stopped;
 * how each goes on from there is in `task-execution.ts` and `task-rollback.ts`. Source: conventions 18.3.
 */

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
import { Ends } from './ends.ts'
import { LockTable } from './locks.ts'
import { Pace } from './pace.ts'
import type { RunnerOptions } from './runner-options.ts'
import { inputOf } from './sealed.ts'
import { StepContexts, Stopping } from './step-context.ts'
import { StepRuns } from './step-run.ts'
import { type ParentTask, parentTaskOf } from './subtasks.ts'
import { TaskExecution } from './task-execution.ts'
import { turnOfInterrupted } from './task-rollback.ts'
import { faultyTask, isUnfinished, mark, type TaskEntity, unfinished } from './task-row.ts'
import { TaskSlots } from './task-slots.ts'

// What the rest of the service knows tasks by.
export { interruptedTask, succeededTask } from './ends.ts'
export type { Durations } from './pace.ts'
export type { RunnerOptions, StepPhase } from './runner-options.ts'
export { subtasksOf } from './subtasks.ts'
export { failureOf, unfinished } from './task-row.ts'

const concurrentTasks = 64

interface Fresh {
  readonly task: TaskEntity
  readonly input: unknown
  readonly accepted: Promise<void>
}

export class TaskRunner<D> implements Tasks, TaskStarter {
  readonly #options: RunnerOptions<D>
  readonly #locks = new LockTable()
  /** Of those that wait or run, by id. */
  readonly #wholes = new Map<string, ParentTask>()
  /** Accepted and not begun. */
  readonly #waiting = new Set<string>()
  /** Those whose acceptance is not durable yet. */
  readonly #fresh = new Map<string, Fresh>()
  readonly #places = new TaskSlots(concurrentTasks)
  readonly #running = new Set<string>()
  readonly #cancelAsked = new Set<string>()
  /** Running tasks that only wait for their sub-tasks. */
  readonly #parked = new Set<string>()
  readonly #stop = new AbortController()
  readonly #pace: Pace
  readonly #ends: Ends
  readonly #contexts: StepContexts<D>
  readonly #wayForward: TaskExecution<D>

  constructor(options: RunnerOptions<D>) {
    const { store, world, durations } = options
    const requests = { cancelAsked: this.#cancelAsked, stopping: this.#stop.signal }
    const parking = { park: (extId: string) => this.#park(extId), resume: (extId: string) => this.#resume(extId) }
    const pace = new Pace(world.clock, durations, this.#stop.signal)
    const ends = new Ends(store, world.clock)
    const contexts = new StepContexts<D>({
      ...requests,
      store,
      world,
      seals: options,
      ends,
      parking,
      starter: (transaction, owner, afterCommit, ids) => this.starter(transaction, owner, afterCommit, false, ids),
    })
    const stepRuns = new StepRuns(options, pace, parking)
    this.#options = options
    this.#pace = pace
    this.#ends = ends
    this.#contexts = contexts
    this.#wayForward = new TaskExecution(options, { contexts, stepRuns, pace, ends }, requests)
  }

  /** Takes up every task that an earlier process left unfinished, in acceptance order. */
  async recover(): Promise<void> {
    const { store, definitions, world } = this.#options
    const filter = anyOf(pathOf(Task, 'status'), unfinished)
    for (const found of (await store.find(Task, { filter })) as TaskEntity[]) {
      // One that cannot be taken up where it was goes back from there.
      const turn = turnOfInterrupted(found, definitions.get(found.runner.definition))
      const task = turn === undefined ? found : await mark(store, found, turn, world.clock)
      this.#enqueue(task)
      if (task.runner.canceling === true) this.#cancelAsked.add(task.extId)
    }
    this.#pump()
  }

  /** The `startTask` of a transaction; `afterwards` lets each task begin when its acceptance is written. */
  starter(
    transaction: Transaction,
    owner: Caller,
    afterwards: (begin: Begin) => void,
    dryRun = false,
    ids: Ids = this.#options.world.ids,
  ): StartTask {
    return async (definition, input, options) => {
      const asked = {
        definition,
        input,
        options,
        owner: options.background === true ? systemCaller(owner.tenantId) : owner,
        isDryRun: dryRun,
        whole: options.parent === undefined ? undefined : this.#wholes.get(options.parent),
      }
      const task = await acceptTask(transaction, asked, this.#options.world.clock, ids, this.#options)
      afterwards((accepted) => {
        if (accepted !== undefined) this.#keepFresh({ task, input, accepted })
        this.#enqueue(task)
        this.#pump()
      })
      return { extId: task.extId }
    }
  }

  #keepFresh(fresh: Fresh): void {
    const { extId } = fresh.task
    // What its row gives back.
    const input = JSON.parse(JSON.stringify(fresh.input ?? null))
    this.#fresh.set(extId, { ...fresh, input })
    const forget = (): void => void this.#fresh.delete(extId)
    fresh.accepted.then(forget, forget)
  }

  #enqueue(task: TaskEntity): void {
    const { extId, runner } = task
    const tellsOfParts = this.#options.definitions.get(runner.definition)?.recordsSubtasks === true
    this.#wholes.set(extId, parentTaskOf(task, tellsOfParts))
    this.#locks.enqueue(extId, runner.locks)
    this.#places.wait(extId, runner.owner.extId)
    this.#waiting.add(extId)
  }

  #pump(): void {
    if (this.#stop.signal.aborted) return
    // A cancelled task that has not begun only needs to be ended: nothing stands in its way.
    for (const extId of this.#cancelAsked) {
      if (!this.#waiting.has(extId)) continue
      this.#places.bypass(extId)
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
      .track(() => this.#run(extId))
      .finally(() => {
        this.#running.delete(extId)
        this.#wholes.delete(extId)
        this.#cancelAsked.delete(extId)
        this.#places.forget(extId)
        this.#locks.release(extId)
        this.#pump()
      })
  }

  /** What breaks between steps, such as a commit or an `unrecord`: the task keeps its locks, and goes on where its row says. */
  async #run(extId: string): Promise<void> {
    for (let tries = 0; !this.#stop.signal.aborted; tries++) {
      try {
        return await this.#takeUp(extId)
      } catch (error) {
        if (this.#stop.signal.aborted) return
        // Each task meets a full disk again and again: told once.
        if (tries === 0 || diskFault(error) === undefined)
          this.#options.log.error({ err: error, task: extId }, 'a task stopped unexpectedly; it is taken up again')
        await this.#pace.pause(1000, tries)
      }
    }
  }

  async #takeUp(extId: string): Promise<void> {
    const { store, world, log } = this.#options
    // What is not durable yet, readers of the store do not see.
    const fresh = this.#fresh.get(extId)
    const task = fresh?.task ?? ((await store.get(Task, extId)) as TaskEntity | undefined)
    if (task === undefined || !isUnfinished(task)) return
    const definition = this.#options.definitions.get(task.runner.definition)
    if (definition === undefined) throw new Error(`no task definition ${task.runner.definition}`)
    const input = fresh === undefined ? inputOf(this.#options, task) : fresh.input
    if (task.runner.dryRun !== true) return this.#wayForward.go(task, definition, input, fresh?.accepted)
    await fresh?.accepted
    const report = await dryRunTask(task, definition, input, this.#contexts.of(task, 'plan'), log)
    this.#ends.tell(await mark(store, task, report, world.clock))
  }

  #park(extId: string): void {
    this.#parked.add(extId)
    this.#places.release(extId)
    this.#pump()
  }

  #resume(extId: string): void {
    this.#parked.delete(extId)
    this.#places.hold(extId)
  }

  /** Tasks that run or wait. */
  size(): number {
    return this.#running.size + this.#waiting.size
  }

  /** How many tasks wait for or hold this entity. */
  queueLength(entityExtId: string): number {
    return this.#locks.queue(entityExtId).length
  }

  /** How many of them have yet to write what they do. A transaction sees what the others did. */
  queueAhead(entityExtId: string): number {
    return this.#locks.queue(entityExtId).filter((task) => !this.#ends.isWritten(task)).length
  }

  /**
   * Marks a cancel; the task notices at its next step, or at once when it has not begun. Call inside the transaction that
   * checked that it may.
   */
  async requestCancel(transaction: Transaction, extId: string, afterCommit: (work: () => void) => void): Promise<void> {
    const task = (await transaction.get(Task, extId)) as TaskEntity
    const isIgnored = this.#options.faults?.ignoresCancel(faultyTask(task)) === true
    const runner = isIgnored ? task.runner : { ...task.runner, canceling: true }
    const status = task.status === 'QUEUED' ? task.status : 'CANCELING'
    await transaction.update(Task, extId, { status, runner, lastUpdatedTime: this.#options.world.clock.iso() } as never)
    afterCommit(() => {
      if (isIgnored || (!this.#running.has(extId) && !this.#waiting.has(extId))) return
      this.#cancelAsked.add(extId)
      this.#pump()
    })
  }

  /** Resolves when the task has ended. */
  untilEnded(extId: string): Promise<TaskEnd> {
    return this.#ends.until(extId)
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
}
