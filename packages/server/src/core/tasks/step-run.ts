import type { Fault, FaultyStep, StepSite } from '../faults.ts'
import { type AnyStep, type AnyTask, DriverError, type StepContext } from './define-task.ts'
import type { Pace } from './pace.ts'
import type { RunnerOptions } from './runner-options.ts'
import type { SlotRelease } from './step-context.ts'
import { faultyTask, type TaskEntity } from './task-row.ts'

const retryDelays = [1000, 2000, 4000]

export interface StepAt<D> {
  readonly task: TaskEntity
  readonly definition: AnyTask<D>
  readonly step: AnyStep<D>
  readonly input: unknown
  readonly context: StepContext<D>
}

export const hasExternalEffect = async <D>({ step, context, input }: StepAt<D>): Promise<boolean> =>
  step.run !== undefined && (step.acts === undefined || (await step.acts(context, input).catch(() => true)))

/** @throws Error when an effect was lost since `lost` was read */
export function requireEffects(
  { lostEffects, lostEffectsCause: whyLost }: Pick<RunnerOptions<unknown>, 'lostEffects' | 'lostEffectsCause'>,
  lost: number | undefined,
): void {
  if (lostEffects?.() === lost) return
  throw new Error('the commit that held the effect of the step has failed', { cause: whyLost?.() })
}

export class StepRuns<D> {
  readonly #options: Pick<RunnerOptions<D>, 'world' | 'beforeStep' | 'faults'>
  readonly #pace: Pace
  readonly #slotRelease: SlotRelease

  constructor(
    options: Pick<RunnerOptions<D>, 'world' | 'beforeStep' | 'faults'>,
    pace: Pace,
    slotRelease: SlotRelease,
  ) {
    this.#options = options
    this.#pace = pace
    this.#slotRelease = slotRelease
  }

  isImmediate(at: StepAt<D>): boolean {
    const { beforeStep } = this.#options
    const takesTime = at.step.seconds !== undefined && this.#pace.simulatesDurations
    return beforeStep === undefined && !takesTime && this.#faultAt(at, 'RUN') === undefined
  }

  async run(at: StepAt<D>, isActing: boolean): Promise<unknown> {
    const { definition, step, context, input } = at
    if (step.seconds !== undefined && this.#pace.simulatesDurations) {
      const [median, p95] = step.seconds
      const times = step.times === undefined ? 1 : await step.times(context, input)
      const about = `task ${definition.name}, ${step.name}`
      if (times > 0) await this.#pace.simulateDuration([times * median, times * p95], context.ids, about)
    }
    await this.#options.beforeStep?.(definition.name, step.name, 'run')
    const run = async (): Promise<unknown> => (isActing ? step.run?.(context, input) : undefined)
    return this.#withRetries(context.stopping, () => this.#withFault(at, 'RUN', run))
  }

  async undo(at: StepAt<D>): Promise<void> {
    const { definition, step, context, input } = at
    await this.#options.beforeStep?.(definition.name, step.name, 'undo')
    const undo = async (): Promise<void> => step.undo?.(context, input)
    await this.#withFault(at, 'UNDO', undo)
  }

  #withFault<T>(at: StepAt<D>, phase: FaultyStep['phase'], work: () => Promise<T>): Promise<T> {
    const { task, context } = at
    const fault = this.#faultAt(at, phase)
    if (fault === undefined) return work()
    const site: StepSite = {
      stopping: context.stopping,
      reach: (percentage) => context.progress(percentage),
      rest: (wait) => this.#idle(task.extId, wait),
    }
    return fault.around(site, work)
  }

  #faultAt({ task, definition, step }: StepAt<D>, phase: FaultyStep['phase']): Fault<StepSite> | undefined {
    const { faults } = this.#options
    if (faults === undefined) return undefined
    const from = definition.steps[definition.steps.indexOf(step) - 1]?.progress ?? 0
    return faults.ofStep(faultyTask(task), { name: step.name, phase, from, to: step.progress ?? 100 })
  }

  async #idle<T>(extId: string, wait: () => Promise<T>): Promise<T> {
    this.#slotRelease.park(extId)
    try {
      return await this.#options.world.clock.idle(wait)
    } finally {
      this.#slotRelease.resume(extId)
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
