/**
 * Fault injection: the points at which a request, a step of a task or a call of a driver asks whether it should fail.
 * The rules are defined elsewhere. Absent where fault injection is switched off.
 * Source: behaviour conventions 23.
 */

import type { Operation } from '@hyperplane/contract'
import { Refusal } from './api-error.ts'
import type { Caller } from './caller.ts'
import type { TrackingClock } from './time/clock.ts'

export interface FaultyWorld {
  readonly seed: string
  readonly clock: TrackingClock
}

export interface Faults {
  /** Faults that may apply to this request; undefined: none can. Cheap: look-ups in maps only. */
  ofRequest(operation: Operation, caller: Caller, batchElement: number | undefined): PossibleFault | undefined
  /** As `ofRequest`, for a step of a task, in either direction. */
  ofStep(task: FaultyTask, step: FaultyStep): Fault<StepSite> | undefined
  /** As `ofRequest`, for a call of a driver: `hypervisor`, `createDisk`. */
  ofCall(driver: string, method: string): Fault<void> | undefined
  /** Whether to ignore a cancel of this task. Called once for each cancel. */
  ignoresCancel(task: FaultyTask): boolean
}

export interface Fault<Site> {
  /** Runs `work`, unless the fault prevents it. @throws the error that the fault injects */
  around<T>(site: Site, work: () => Promise<T>): Promise<T>
}

export interface PossibleFault {
  /** Whether it applies depends on names, which have to be looked up. */
  readonly isNamed: boolean
  /**
   * The fault that applies; undefined: none. Called once for each request. @param names of the target and of the
   * created entity
   */
  of(names: readonly string[]): RequestFault | undefined
}

export interface RequestFault extends Fault<RequestSite> {
  /** How the response is cut off on its way to the client. */
  readonly cut: Cut | undefined
  readonly struck: readonly string[]
}

/** The connection is closed before the response, or within its body. */
export type Cut = 'dropped' | { readonly afterBytes: number }

/** Actions of a fault on a request. */
export interface RequestSite {
  /** Names of the target and of the created entity. */
  names(): Promise<readonly string[]>
  /** Facts of the request, by the names of the placeholders in error messages. */
  messageArguments(): Promise<Readonly<Record<string, string>>>
  /** Simulates a concurrent change: writes the target and commits. */
  writeTarget(): Promise<void>
}

/** Actions of a fault on a step of a task. */
export interface StepSite {
  readonly stopping: AbortSignal
  reach(percentage: number): Promise<void>
  /** Waits without holding a slot and without holding up the clock. */
  rest<T>(wait: () => Promise<T>): Promise<T>
}

export interface FaultyTask {
  readonly extId: string
  /** Name of its definition, `vmm.create-vm`. */
  readonly definition: string
  readonly startedBy: string | undefined
  readonly owner: Caller
  readonly affected: readonly { readonly extId: string; readonly name?: string }[]
}

export interface FaultyStep {
  readonly name: string
  readonly phase: 'RUN' | 'UNDO'
  /** Progress of the task before and after the step, in percent. */
  readonly from: number
  readonly to: number
}

/** The connection is closed without a response. */
export class ConnectionDropped extends Refusal {
  readonly status = 0
  constructor() {
    super('the connection was dropped on purpose')
  }
}

/** The worker of the task stops; the task is resumed where its row says. */
export class WorkerCrash extends Error {
  constructor() {
    super('the worker crashed on purpose')
  }
}
