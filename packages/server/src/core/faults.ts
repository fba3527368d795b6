/**
 * Where things go wrong on purpose: the places at which a request, a step of a task or a call of a driver asks whether it
 * does. What goes wrong, and when, is not known here. Absent where nobody may ask for that: then nothing is asked.
 * Source: DESIGN D; behaviour conventions 23.
 */

import type { Operation } from '@hyperplane/contract'
import { Refusal } from './api-error.ts'
import type { Caller } from './caller.ts'
import type { TrackingClock } from './time/clock.ts'

/** The world that faults strike in. */
export interface FaultyWorld {
  /** Seed of every random choice of its faults. */
  readonly seed: string
  readonly clock: TrackingClock
}

export interface Faults {
  /** What may befall this request; undefined: nothing can, which a look into maps tells. */
  ofRequest(operation: Operation, caller: Caller, batchElement: number | undefined): PossibleFault | undefined
  /** The same for a step of a task, on its way forward or back. */
  ofStep(task: FaultyTask, step: FaultyStep): Fault<StepSite> | undefined
  /** The same for a call of a driver: `hypervisor`, `createDisk`. */
  ofCall(driver: string, method: string): Fault<void> | undefined
  /** A cancel of this task has no effect. Asked once a cancel. */
  ignoresCancel(task: FaultyTask): boolean
}

export interface Fault<Site> {
  /** Does `work`, unless what befalls it is that it is not done. @throws what is to be answered in its place */
  around<T>(site: Site, work: () => Promise<T>): Promise<T>
}

/** Something may befall a request. */
export interface PossibleFault {
  /** Whether it does depends on names, which have to be known. */
  readonly isNamed: boolean
  /** What does; undefined: nothing. Asked once a request. @param names of what is made or meant */
  of(names: readonly string[]): RequestFault | undefined
}

export interface RequestFault extends Fault<RequestSite> {
  /** How the answer fails to reach the client. */
  readonly cut: Cut | undefined
  /** Ids of the rules that struck. */
  readonly struck: readonly string[]
}

/** The connection ends without an answer, or within its body. */
export type Cut = 'dropped' | { readonly afterBytes: number }

/** What a fault may do with a request. */
export interface RequestSite {
  /** Names of what is made or meant. */
  names(): Promise<readonly string[]>
  /** What the request tells by itself, by the names that messages of errors have for it. */
  messageArguments(): Promise<Readonly<Record<string, string>>>
  /** Somebody else writes the entity that the path names, and commits that. */
  writeTarget(): Promise<void>
}

/** What a fault may do with a task. */
export interface StepSite {
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal
  /** Shows that the task has come so far. */
  reach(percentage: number): Promise<void>
  /** The task waits, and nothing else waits for it: no place, no clock that is moved. */
  rest<T>(wait: () => Promise<T>): Promise<T>
}

export interface FaultyTask {
  readonly extId: string
  /** Name of its definition, `vmm.create-vm`. */
  readonly definition: string
  /** Key of the operation that started it. */
  readonly startedBy: string | undefined
  readonly owner: Caller
  readonly affected: readonly { readonly extId: string; readonly name?: string }[]
}

export interface FaultyStep {
  readonly name: string
  readonly phase: 'RUN' | 'UNDO'
  /** Progress of the task before it and after it, in percent. */
  readonly from: number
  readonly to: number
}

/** Nobody is answered. */
export class ConnectionDropped extends Refusal {
  readonly status = 0
  constructor() {
    super('the connection was dropped on purpose')
  }
}

/** Whoever runs the task loses it: to be taken up again where its row says. */
export class WorkerCrash extends Error {
  constructor() {
    super('the worker crashed on purpose')
  }
}
