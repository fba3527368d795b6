/** One step as it acts outside, or takes that back: how long it takes, how often it is tried, what goes wrong on purpose. */
import type { FaultyStep, StepSite } from '../faults.ts'
import { DriverError, type Step, type StepContext, type TaskDefinition } from './define-task.ts'
import type { Pace } from './pace.ts'
import type { RunnerOptions } from './runner-options.ts'
import type { Parking } from './step-context.ts'
import { faultyTask, type TaskEntity } from './task-row.ts'

const retryDelays = [1000, 2000, 4000]

/** A step that a task has come to, on its way forward or back. */
export interface StepAt<D> {
  readonly task: TaskEntity
  readonly definition: TaskDefinition<D, any>
  readonly step: Step<D, any>
  readonly input: unknown
  readonly context: StepContext<D>
}

export class StepRuns<D> {
  readonly #options: Pick<RunnerOptions<D>, 'world' | 'beforeStep' | 'faults'>
  readonly #pace: Pace
  readonly #parking: Parking

  constructor(options: Pick<RunnerOptions<D>, 'world' | 'beforeStep' | 'faults'>, pace: Pace, parking: Parking) {
    this.#options = options
    this.#pace = pace
    this.#parking = parking
  }

  /** What the step's `run` gives. */
  async run(at: StepAt<D>): Promise<unknown> {
    const { definition, step, context, input } = at
    if (step.seconds !== undefined)
      await this.#pace.linger(step.seconds, context.ids, `task ${definition.name}, ${step.name}`)
    await this.#options.beforeStep?.(definition.name, step.name, 'run')
    const run = async (): Promise<unknown> => step.run?.(context, input)
    return this.#withRetries(context.stopping, () => this.#amidFaults(at, 'RUN', run))
  }

  /** The step's `undo`, once: what fails is for the caller to try again. */
  async undo(at: StepAt<D>): Promise<void> {
    const { definition, step, context, input } = at
    await this.#options.beforeStep?.(definition.name, step.name, 'undo')
    const undo = async (): Promise<void> => step.undo?.(context, input)
    await this.#amidFaults(at, 'UNDO', undo)
  }

  /** Does what a step does, unless something goes wrong on purpose. */
  #amidFaults<T>(at: StepAt<D>, phase: FaultyStep['phase'], work: () => Promise<T>): Promise<T> {
    const { task, definition, step, context } = at
    const { faults } = this.#options
    if (faults === undefined) return work()
    const from = definition.steps[definition.steps.indexOf(step) - 1]?.progress ?? 0
    const fault = faults.ofStep(faultyTask(task), { name: step.name, phase, from, to: step.progress })
    if (fault === undefined) return work()
    const site: StepSite = {
      stopping: context.stopping,
      reach: (percentage) => context.progress(percentage),
      rest: (wait) => this.#rest(task.extId, wait),
    }
    return fault.around(site, work)
  }

  async #rest<T>(extId: string, wait: () => Promise<T>): Promise<T> {
    this.#parking.park(extId)
    try {
      return await this.#options.world.clock.rest(wait)
    } finally {
      this.#parking.resume(extId)
    }
  }

  async #withRetries<T>(stopping: AbortSignal, work: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof DriverError) || !error.retryable || attempt >= retryDelays.length || stopping.aborted)
          throw error
        await this.#pace.pause(retryDelays[attempt] as number)
        stopping.throwIfAborted()
      }
    }
  }
}
