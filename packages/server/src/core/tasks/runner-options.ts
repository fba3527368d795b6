import type { Store } from '../../store/store.ts'
import type { Faults } from '../faults.ts'
import type { World } from '../world.ts'
import type { AnyTask } from './define-task.ts'
import type { Durations } from './pace.ts'
import type { TaskSeals } from './sealed.ts'

/** The four functions of a step: the external effect, its record, and both reverted. */
export type StepPhase = 'run' | 'record' | 'undo' | 'unrecord'

export interface RunnerLog {
  error(details: object, message: string): void
  warn(details: object, message: string): void
}

export interface RunnerOptions<D> extends TaskSeals {
  readonly store: Store
  readonly world: World<D>
  readonly definitions: ReadonlyMap<string, AnyTask<D>>
  readonly durations: Durations
  /**
   * Counts effects that a driver reported as done and that were lost, because the commit that held them failed. Absent:
   * drivers report only durable effects.
   */
  readonly lostEffects?: () => number
  /** Error of the last such commit: after a disk fault a step runs again instead of being undone. */
  readonly lostEffectsCause?: () => unknown
  readonly log: RunnerLog
  /** Called before each function of a step; a hook for the test that kills the process there. */
  readonly beforeStep?: (definition: string, step: string, phase: StepPhase) => void | Promise<void>
  /** Absent: fault injection is off. */
  readonly faults?: Faults
}
