/** From the cursor in the row to the task's end, or to the start of its rollback. Source: conventions 18.3. */

import { diskFault } from '../../store/disk-fault.ts'
import { EarlierCommitFailed } from '../../store/store.ts'
import { type AppMessage, Refusal } from '../api-error.ts'
import { WorkerCrash } from '../faults.ts'
import { Commits } from './commits.ts'
import { type AnyTask, DriverError } from './define-task.ts'
import { canceled, messagesOf } from './messages.ts'
import type { RunnerOptions } from './runner-options.ts'
import { Stopping, type StopRequests } from './step-context.ts'
import { type CompletedStep, StepRecords } from './step-records.ts'
import { hasExternalEffect, type StepAt } from './step-run.ts'
import { type Dependencies, isPastPointOfNoReturn, mayCancel, TaskRollback } from './task-rollback.ts'
import { mark, marking, type TaskEntity } from './task-row.ts'

/** A DriverError about a full disk means another machine's disk. */
const isFaultOfDisk = (error: unknown): boolean =>
  error instanceof EarlierCommitFailed || (!(error instanceof DriverError) && diskFault(error) !== undefined)

export class TaskExecution<D> {
  readonly #options: RunnerOptions<D>
  readonly #dependencies: Dependencies<D>
  readonly #requests: StopRequests
  readonly #records: StepRecords<D>
  readonly #rollback: TaskRollback<D>

  constructor(options: RunnerOptions<D>, dependencies: Dependencies<D>, requests: StopRequests) {
    this.#options = options
    this.#dependencies = dependencies
    this.#requests = requests
    this.#records = new StepRecords(options, dependencies.contexts)
    this.#rollback = new TaskRollback(options, dependencies)
  }

  /** Resolves at the task's end or at shutdown. `accepted`: the pending commit of its acceptance. @throws errors between steps */
  async run(
    queued: TaskEntity,
    definition: AnyTask<D>,
    input: unknown,
    accepted: Promise<void> | undefined,
  ): Promise<void> {
    const { store, world, log, lostEffects, beforeStep } = this.#options
    const { stepRuns, pace, ends } = this.#dependencies
    const { cancelRequests: cancelAsked, stopping } = this.#requests
    const { extId } = queued
    const commits = new Commits()
    let task = queued
    let tries = 0
    while (!stopping.aborted) {
      if (task.runner.undoing === true) return this.#rollback.run(task, definition, input)
      const { cursor } = task.runner
      const at = this.#at(task, definition, cursor, input)
      if (at === undefined) return
      if (cancelAsked.has(extId) && mayCancel(definition, cursor)) {
        await commits.done()
        task = await this.#startRollback(task, [canceled()])
        continue
      }
      const lost = lostEffects?.()
      const record = async (done: readonly CompletedStep<D>[]): Promise<void> => {
        task = await this.#records.write({ task, definition, input, done, lostEffects: lost }, commits)
      }
      let isIrreversiblyDone = false
      try {
        const done: CompletedStep<D>[] = []
        const { step, context } = at
        const isActing = await hasExternalEffect(at)
        if (isActing || !stepRuns.isImmediate(at)) {
          if (task.startedTime === undefined) {
            const changes = { status: 'RUNNING', startedTime: world.clock.iso() }
            task = await commits.stage(store, marking(task, changes, world.clock))
          }
          // All that a step depends on must be durable before its external effect; nothing depends on the RUNNING mark.
          if (isActing) await (cursor > 0 ? commits.done() : accepted)
          done.push({ step, context, output: await stepRuns.run(at, isActing) })
          isIrreversiblyDone = step.isIrreversible === true
          await beforeStep?.(definition.name, step.name, 'record')
        }
        stopping.throwIfAborted()
        done.push(...(await this.#immediateStepsFrom(task, definition, cursor + done.length, input)))
        await record(done).catch(async (error) => {
          if (done.length === 1) throw error
          // If the shared record fails, record each step alone: those before the faulty one are done.
          for (const each of done) await record([each])
        })
        tries = 0
      } catch (error) {
        // An error caused by shutdown does not fail the task; it resumes at the next start.
        if (error instanceof Stopping || (stopping.aborted && !(error instanceof Refusal))) return
        // A full disk does not fail an accepted task: the step runs again once there is room.
        if (error instanceof WorkerCrash || isFaultOfDisk(error)) {
          await commits.done()
          throw error
        }
        if (isIrreversiblyDone || isPastPointOfNoReturn(definition, task.runner.cursor)) {
          log.warn(
            { err: error, task: extId, step: definition.steps[task.runner.cursor]?.name },
            'a step that cannot be undone failed; it is tried again',
          )
          await pace.pause(1000, tries++)
          continue
        }
        await commits.done()
        task = await this.#startRollback(task, messagesOf(error, extId, log))
        continue
      }
      const isLast = task.runner.cursor === definition.steps.length
      if (!isLast && !commits.isAwaited) continue
      const durable = commits.done()
      if (isLast) ends.notifyWritten(task, durable)
      await durable
      if (isLast) ends.notify(task)
    }
  }

  #at(task: TaskEntity, definition: AnyTask<D>, cursor: number, input: unknown): StepAt<D> | undefined {
    const step = definition.steps[cursor]
    return step && { task, definition, step, input, context: this.#dependencies.contexts.of(task, step.name) }
  }

  /** Following steps that are recorded with this one: no external effect, duration or injected fault. */
  async #immediateStepsFrom(
    task: TaskEntity,
    definition: AnyTask<D>,
    cursor: number,
    input: unknown,
  ): Promise<readonly CompletedStep<D>[]> {
    const at = this.#at(task, definition, cursor, input)
    if (at === undefined || !this.#dependencies.stepRuns.isImmediate(at) || (await hasExternalEffect(at))) return []
    return [{ step: at.step }, ...(await this.#immediateStepsFrom(task, definition, cursor + 1, input))]
  }

  #startRollback(task: TaskEntity, failure: readonly AppMessage[]): Promise<TaskEntity> {
    const { store, world } = this.#options
    return mark(store, task, { runner: { ...task.runner, undoing: true, failure } }, world.clock)
  }
}
