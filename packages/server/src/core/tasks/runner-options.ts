/** What the runner of tasks is given. */

import type { Store } from '../../store/store.ts'
import type { Faults } from '../faults.ts'
import type { World } from '../world.ts'
import type { TaskDefinition } from './define-task.ts'
import type { Durations } from './pace.ts'
import type { TaskSeals } from './sealed.ts'

/** The parts of a step: its effect outside, what is written of it, and both taken back. */
export type StepPhase = 'run' | 'record' | 'undo' | 'unrecord'

export interface RunnerLog {
  error(details: object, message: string): void
  warn(details: object, message: string): void
}

export interface RunnerOptions<D> extends TaskSeals {
  readonly store: Store
  readonly world: World<D>
  readonly definitions: ReadonlyMap<string, TaskDefinition<D, any>>
  readonly durations: Durations
  /**
   * How often it came out that what a driver had told as done is not, since the commit that held it failed. Absent: drivers tell
   * only what is durable.
   */
  readonly lostEffects?: () => number
  /** Why the last of those commits failed: after a fault of the disk a step runs again instead of being undone. */
  readonly lostEffectsCause?: () => unknown
  readonly log: RunnerLog
  /** Called before each part of a step: a place for faults, and for the test that kills the process there. */
  readonly beforeStep?: (definition: string, step: string, phase: StepPhase) => void | Promise<void>
  /** Absent: nothing goes wrong on purpose. */
  readonly faults?: Faults
}
