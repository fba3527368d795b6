/** The way of a task forward: step by step from where its row says to its end, or to where it turns back. Source: conventions 18.3. */
import { Task } from '@hyperplane/contract/platform/task'
import { type AppMessage, Refusal } from '../api-error.ts'
import { WorkerCrash } from '../faults.ts'
import { Commits } from './commits.ts'
import type { Step, TaskDefinition } from './define-task.ts'
import { canceled, messagesOf } from './messages.ts'
import type { RunnerOptions } from './runner-options.ts'
import { sealedOutputs } from './sealed.ts'
import { type Requests, Stopping } from './step-context.ts'
import type { StepAt } from './step-run.ts'
import { mark, marking, type TaskEntity, withoutWork } from './task-row.ts'
import { isPastReturn, type Means, mayCancel, WayBack } from './way-back.ts'

/** One that cannot tell may act: its `run` will find what is wrong. */
const acts = async <D>({ step, context, input }: StepAt<D>): Promise<boolean> =>
  step.run !== undefined && (step.acts === undefined || (await step.acts(context, input).catch(() => true)))

export class WayForward<D> {
  readonly #options: RunnerOptions<D>
  readonly #means: Means<D>
  readonly #requests: Requests
  readonly #wayBack: WayBack<D>

  constructor(options: RunnerOptions<D>, means: Means<D>, requests: Requests) {
    this.#options = options
    this.#means = means
    this.#requests = requests
    this.#wayBack = new WayBack(options, means)
  }

  /** Resolves when the task has ended, or when everything stops. @throws what breaks between steps */
  async go(taken: TaskEntity, definition: TaskDefinition<D, any>, input: unknown): Promise<void> {
    const { store, world, log } = this.#options
    const { contexts, stepRuns, pace, ends } = this.#means
    const { cancelAsked, stopping } = this.#requests
    const { extId } = taken
    const commits = new Commits()
    let task = taken
    if (task.startedTime === undefined && !cancelAsked.has(extId)) {
      const changes = { status: 'RUNNING', startedTime: world.clock.iso() }
      task = await commits.stage(store, marking(task, changes, world.clock))
    }
    let tries = 0
    while (!stopping.aborted) {
      if (task.runner.undoing === true) return this.#wayBack.go(task, definition, input)
      const step: Step<D, any> | undefined = definition.steps[task.runner.cursor]
      if (step === undefined) return
      if (cancelAsked.has(extId) && mayCancel(definition, task.runner.cursor)) {
        await commits.done()
        task = await this.#turnBack(task, [canceled()])
        continue
      }
      const at = { task, definition, step, input, context: contexts.of(task, step.name) }
      // What acts outside only follows from what no crash can take back; that the task runs is no cause of anything.
      if (task.runner.cursor > 0 && (await acts(at))) await commits.done()
      let isDoneForGood = false
      try {
        const output = await stepRuns.run(at)
        isDoneForGood = step.isIrreversible === true
        task = await this.#record(at, output, commits)
        tries = 0
      } catch (error) {
        // What breaks because everything ends is no failure of the task: the next start takes it up again.
        if (error instanceof Stopping || (stopping.aborted && !(error instanceof Refusal))) return
        if (error instanceof WorkerCrash) {
          await commits.done()
          throw error
        }
        if (isDoneForGood || isPastReturn(definition, task.runner.cursor)) {
          log.warn(
            { err: error, task: extId, step: step.name },
            'a step that cannot be undone failed; it is tried again',
          )
          await pace.pause(1000, tries++)
          continue
        }
        await commits.done()
        task = await this.#turnBack(task, messagesOf(error, extId, log))
        continue
      }
      const isLast = step === definition.steps.at(-1)
      if (!isLast && !commits.isAwaited) continue
      const durable = commits.done()
      if (isLast) ends.tellWritten(task, durable)
      await durable
      if (isLast) ends.tell(task)
    }
  }

  /** Writes what came of the step, and that it is done. */
  async #record(at: StepAt<D>, output: unknown, commits: Commits): Promise<TaskEntity> {
    const { task, definition, step, input, context } = at
    const { store, world } = this.#options
    const { cursor } = task.runner
    await this.#options.beforeStep?.(definition.name, step.name, 'record')
    this.#requests.stopping.throwIfAborted()
    const isLast = cursor === definition.steps.length - 1
    const after: (() => void)[] = []
    const stored = await commits.stage(store, async (transaction) => {
      const record = this.#means.contexts.recording(context, transaction, after)
      const recorded = await step.record?.(record.context, input, output)
      const kept = recorded === undefined ? output : recorded.keep
      const current = (await transaction.get(Task, task.extId)) as TaskEntity
      const now = world.clock.iso()
      const outputs = kept === undefined ? {} : { outputs: sealedOutputs(this.#options, task, step.name, kept) }
      return (await transaction.update(Task, task.extId, {
        ...record.changes(current),
        runner: withoutWork(isLast, { ...current.runner, cursor: cursor + 1, ...outputs }),
        progressPercentage: Math.max(current.progressPercentage ?? 0, isLast ? 100 : step.progress),
        isCancelable: isLast ? false : mayCancel(definition, cursor + 1) && current.isCancelable === true,
        subSteps: [...(current.subSteps ?? []), { name: step.name }].slice(-50),
        lastUpdatedTime: now,
        ...(isLast ? { status: 'SUCCEEDED', completedTime: now } : {}),
      } as never)) as TaskEntity
    })
    commits.afterwards(after)
    return stored
  }

  #turnBack(task: TaskEntity, failure: readonly AppMessage[]): Promise<TaskEntity> {
    const { store, world } = this.#options
    return mark(store, task, { runner: { ...task.runner, undoing: true, failure } }, world.clock)
  }
}
