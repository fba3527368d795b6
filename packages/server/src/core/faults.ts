/** Fault injection: where a request, a task step or a driver call may fail. Source: behaviour conventions 23. */

import type { Operation } from '@hyperplane/contract'
import { Refusal } from './api-error.ts'
import type { Caller } from './caller.ts'
import type { TrackingClock } from './time/clock.ts'

export interface FaultyWorld {
  readonly seed: string
  readonly clock: TrackingClock
}

export interface Faults {
  /** Cheap: look-ups in maps only. Undefined: no fault can apply. */
  ofRequest(operation: Operation, caller: Caller, batchElement: number | undefined): PossibleFault | undefined
  ofStep(task: FaultyTask, step: FaultyStep): Fault<StepSite> | undefined
  ofCall(driver: string, method: string): Fault<void> | undefined
  ignoresCancel(task: FaultyTask): boolean
}

export interface Fault<Site> {
  around<T>(site: Site, work: () => Promise<T>): Promise<T>
}

export interface PossibleFault {
  readonly isNamed: boolean
  /** Counts no match, unlike `of`. */
  mayStrike(names: readonly string[]): boolean
  of(names: readonly string[]): RequestFault | undefined
}

export interface RequestFault extends Fault<RequestSite> {
  readonly cut: Cut | undefined
  readonly struck: readonly string[]
}

export type Cut = 'dropped' | { readonly afterBytes: number }

export interface RequestSite {
  names(): Promise<readonly string[]>
  messageArguments(): Promise<Readonly<Record<string, string>>>
  /** Simulates a concurrent change: writes the target and commits. */
  writeTarget(): Promise<void>
}

export interface StepSite {
  readonly stopping: AbortSignal
  reach(percentage: number): Promise<void>
  /** Waits without holding a slot and without holding up the clock. */
  rest<T>(wait: () => Promise<T>): Promise<T>
}

export interface FaultyTask {
  readonly extId: string
  readonly definition: string
  readonly startedBy: string | undefined
  readonly owner: Caller
  readonly affected: readonly { readonly extId: string; readonly name?: string }[]
}

export interface FaultyStep {
  readonly name: string
  readonly phase: 'RUN' | 'UNDO'
  readonly from: number
  readonly to: number
}

export class ConnectionDropped extends Refusal {
  readonly status = 0
  constructor() {
    super('the connection was dropped on purpose')
  }
}

/** The task is resumed where its row says. */
export class WorkerCrash extends Error {
  constructor() {
    super('the worker crashed on purpose')
  }
}
