/** One transaction with the task's progress. Source: conventions 18.3. */
import { Task } from '@hyperplane/contract/platform/task'
import { EarlierCommitFailed } from '../../store/store.ts'
import type { Commits } from './commits.ts'
import type { AnyStep, AnyTask, StepContext } from './define-task.ts'
import type { RunnerOptions } from './runner-options.ts'
import { sealedOutputs } from './sealed.ts'
import type { Recording, StepContexts } from './step-context.ts'
import { requireEffects } from './step-run.ts'
import { mayCancel } from './task-rollback.ts'
import { type TaskEntity, updateTask, withoutWork } from './task-row.ts'

export interface CompletedStep<D> {
  readonly step: AnyStep<D>
  readonly output?: unknown
  readonly context?: StepContext<D>
}

export interface StepRecord<D> {
  readonly task: TaskEntity
  readonly definition: AnyTask<D>
  readonly input: unknown
  readonly done: readonly CompletedStep<D>[]
  /** Read before the first step ran. */
  readonly lostEffects: number | undefined
}

type Options<D> = Pick<RunnerOptions<D>, 'store' | 'world' | 'seal' | 'open' | 'lostEffects' | 'lostEffectsCause'>

export class StepRecords<D> {
  readonly #options: Options<D>
  readonly #contexts: StepContexts<D>

  constructor(options: Options<D>, contexts: StepContexts<D>) {
    this.#options = options
    this.#contexts = contexts
  }

  /** Writes all steps or none. Tasks that the steps start begin after `commits.done`. */
  async write(
    { task, definition, input, done, lostEffects: lost }: StepRecord<D>,
    commits: Commits,
  ): Promise<TaskEntity> {
    const after: (() => void)[] = []
    const written = await commits.stage(this.#options.store, async (transaction) => {
      requireEffects(this.#options, lost)
      const before = (await transaction.get(Task, task.extId)) as TaskEntity | undefined
      // The record of an earlier step was lost with its commit: this write would mark that step as done.
      if (before?.runner.cursor !== task.runner.cursor) throw new EarlierCommitFailed()
      const changesOfSteps: Recording<D>['changes'][] = []
      let current = task
      for (const { step, output, context = this.#contexts.of(current, step.name) } of done) {
        const record = this.#contexts.recording(context, transaction, after)
        const recorded = await step.record?.(record.context, input, output)
        const storedOutput = recorded === undefined ? output : recorded.keep
        if (storedOutput !== undefined) current = this.#withOutput(current, step.name, storedOutput)
        changesOfSteps.push(record.changes)
      }
      const row = (await transaction.get(Task, task.extId)) as TaskEntity
      const merged = { ...row }
      for (const changes of changesOfSteps) Object.assign(merged, changes(merged))
      const { outputs } = current.runner
      const runner = outputs === undefined ? row.runner : { ...row.runner, outputs }
      return updateTask(transaction, task.extId, {
        ...merged,
        ...this.#progress({ ...row, runner }, definition, done),
      })
    })
    commits.afterwards(after)
    return written
  }

  #withOutput(task: TaskEntity, step: string, output: unknown): TaskEntity {
    return { ...task, runner: { ...task.runner, outputs: sealedOutputs(this.#options, task, step, output) } }
  }

  #progress(row: TaskEntity, definition: AnyTask<D>, done: readonly CompletedStep<D>[]): Record<string, unknown> {
    const now = this.#options.world.clock.iso()
    const cursor = row.runner.cursor + done.length
    const isLast = cursor === definition.steps.length
    return {
      // Immediate steps share the write that marks the task as running.
      ...(row.startedTime === undefined ? { status: 'RUNNING', startedTime: now } : {}),
      runner: withoutWork(isLast, { ...row.runner, cursor }),
      progressPercentage: Math.max(row.progressPercentage ?? 0, isLast ? 100 : (done.at(-1)?.step.progress ?? 0)),
      isCancelable: isLast ? false : mayCancel(definition, cursor) && row.isCancelable === true,
      subSteps: [...(row.subSteps ?? []), ...done.map(({ step: { name } }) => ({ name }))].slice(-50),
      lastUpdatedTime: now,
      ...(isLast ? { status: 'SUCCEEDED', completedTime: now } : {}),
    }
  }
}
