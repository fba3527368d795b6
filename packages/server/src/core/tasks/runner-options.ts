import type { Store } from '../../store/store.ts'
import type { Faults } from '../faults.ts'
import type { World } from '../world.ts'
import type { AnyTask } from './define-task.ts'
import type { Durations } from './pace.ts'
import type { TaskSeals } from './sealed.ts'

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
  /** Counts effects that a driver reported as done and then lost. Absent: drivers report only durable effects. */
  readonly lostEffects?: () => number
  readonly lostEffectsCause?: () => unknown
  readonly log: RunnerLog
  /** For the test that kills the process at this point. */
  readonly beforeStep?: (definition: string, step: string, phase: StepPhase) => void | Promise<void>
  readonly faults?: Faults
}
