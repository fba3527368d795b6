/** Declared here, because worlds do not import the control interface. */

import type { Faults, FaultyWorld } from '../core/faults.ts'
import type { Dispatch } from '../core/pipeline/request.ts'
import type { CallRecorder } from '../core/recording/recording.ts'

export interface WorldHooks {
  /** Stores something for the world. Only an authorised caller may cause the first entry. */
  readonly isKept: boolean
  readonly dispatch: Dispatch
  readonly recorder: CallRecorder
  /** Before opening, so that fault rules and journal settings hold from the first moment on. */
  opening(): Promise<void>
  faultsOf(world: FaultyWorld): Faults
  /** Before closing: refuses requests that wait because of a fault. */
  release(): void
  /** Called when the instance stays open after all. */
  resume(): void
  clear(): Promise<void>
  close(): Promise<void>
}
