/** Undoes steps in reverse order. Source: conventions 18.3. */
import { Task } from '@hyperplane/contract/platform/task'
import { WorkerCrash } from '../faults.ts'
import type { AnyStep, AnyTask } from './define-task.ts'
import { type TaskEnds, undoneTask } from './ends.ts'
import { interruptedByStop } from './messages.ts'
import type { Pace } from './pace.ts'
import type { RunnerOptions } from './runner-options.ts'
import type { StepContexts } from './step-context.ts'
import { requireEffects, type StepAt, type StepRuns } from './step-run.ts'
import { type TaskEntity, updateTask, withoutWork } from './task-row.ts'

export function mayCancel(definition: AnyTask<never>, cursor: number): boolean {
  const limit = definition.steps.findIndex((step) => step.name === definition.cancelableUntil)
  return cursor === 0 || (limit >= 0 && cursor <= limit)
}

export function isPastPointOfNoReturn(definition: AnyTask<never>, cursor: number): boolean {
  const border = definition.steps.findIndex((step) => step.name === definition.pointOfNoReturn)
  return (border >= 0 && cursor >= border) || definition.steps.slice(0, cursor).some((step) => step.isIrreversible)
}

export function rollbackOfInterrupted(
  { runner: { interruption, ...runner } }: TaskEntity,
  definition: AnyTask<never> | undefined,
): Record<string, unknown> | undefined {
  const { cursor, undoing, failure = [] } = runner
  const reason = interruption ?? (definition?.endsWithProcess === true ? interruptedByStop() : undefined)
  if (definition === undefined || reason === undefined || isPastPointOfNoReturn(definition, cursor)) return undefined
  if (undoing === true && interruption === undefined) return undefined
  const why = undoing === true ? [reason, ...failure] : [reason]
  return { status: 'RUNNING', runner: { ...runner, undoing: true, failure: why } }
}

export interface Dependencies<D> {
  readonly contexts: StepContexts<D>
  readonly stepRuns: StepRuns<D>
  readonly pace: Pace
  readonly ends: TaskEnds
}

export class TaskRollback<D> {
  readonly #options: Pick<
    RunnerOptions<D>,
    'store' | 'world' | 'log' | 'beforeStep' | 'lostEffects' | 'lostEffectsCause'
  >
  readonly #dependencies: Dependencies<D>

  constructor(
    options: Pick<RunnerOptions<D>, 'store' | 'world' | 'log' | 'beforeStep' | 'lostEffects' | 'lostEffectsCause'>,
    dependencies: Dependencies<D>,
  ) {
    this.#options = options
    this.#dependencies = dependencies
  }

  async run(task: TaskEntity, definition: AnyTask<D>, input: unknown): Promise<void> {
    let current = task
    for (let index = Math.min(task.runner.cursor, definition.steps.length - 1); index >= 0; index--) {
      const step = definition.steps[index] as AnyStep<D>
      const at = { task: current, definition, step, input, context: this.#dependencies.contexts.of(current, step.name) }
      const lost = this.#options.lostEffects?.()
      if (!(await this.#undo(at))) return
      current = await this.#unrecord(at, index, lost)
      if (index === 0) this.#dependencies.ends.notify(current)
    }
  }

  /** False: the service stopped first. */
  async #undo(at: StepAt<D>): Promise<boolean> {
    const { task, definition, step, context } = at
    for (let tries = 0; !context.stopping.aborted; tries++) {
      try {
        await this.#dependencies.stepRuns.undo(at)
        await this.#options.beforeStep?.(definition.name, step.name, 'unrecord')
        return true
      } catch (error) {
        if (error instanceof WorkerCrash) throw error
        this.#options.log.warn({ err: error, task: task.extId, step: step.name }, 'an undo failed; it is retried')
        await this.#dependencies.pace.pause(1000, tries)
      }
    }
    return false
  }

  /** The record of the first step also ends the task. */
  async #unrecord(
    { task, definition, step, input, context }: StepAt<D>,
    index: number,
    lost: number | undefined,
  ): Promise<TaskEntity> {
    const { store, world } = this.#options
    const { cursor, failure = [] } = task.runner
    const wasRecorded = index < cursor
    const last = index === 0
    const after: (() => void)[] = []
    const written = await store.transaction(async (transaction) => {
      requireEffects(this.#options, lost)
      const record = this.#dependencies.contexts.recording(context, transaction, after)
      if (wasRecorded) await step.unrecord?.(record.context, input)
      if (last) await definition.onUndone?.(record.context, input)
      const stored = (await transaction.get(Task, task.extId)) as TaskEntity
      const now = world.clock.iso()
      return updateTask(transaction, task.extId, {
        ...record.changes(stored),
        runner: withoutWork(last, { ...stored.runner, ...task.runner, cursor: index }),
        lastUpdatedTime: now,
        ...(last ? undoneTask(stored, failure, now) : {}),
      })
    })
    for (const work of after) work()
    return written
  }
}
