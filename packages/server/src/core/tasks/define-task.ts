/** How a domain describes slow work: named steps, each with its undo beside it. Source: conventions 18; STYLE. */

import type { Reader, Transaction } from '../../store/store.ts'
import type { AppMessage } from '../api-error.ts'
import type { Caller, Ids } from '../caller.ts'
import type { World } from '../world.ts'

export interface StepContext<D> extends World<D> {
  readonly store: Reader
  readonly taskExtId: string
  /** Key of this step's effect on the outside world: drivers treat equal keys as the same call. */
  readonly callKey: string
  readonly owner: Caller
  /** What earlier steps of this task returned, by step name. */
  readonly outputs: Readonly<Record<string, any>>
  /** Raises progress inside a long step. */
  progress(percentage: number): Promise<void>
  /**
   * Writes what a long step has reached so far, durably, in one transaction with the task's progress. The step itself is
   * not done by that: after a crash `run` starts again and must find out what this wrote. `undefined`: the task's own row
   * stays as it is, unless `write` says something about the task.
   */
  checkpoint(
    percentage: number | undefined,
    write: (ctx: RecordContext<D>) => Promise<TaskChanges | void>,
  ): Promise<void>
  /** Resolves when each of these tasks has ended; answers their final states in order. */
  untilEnded(taskExtIds: readonly string[], written?: Written): Promise<readonly TaskEnd[]>
  /** A cancel was asked for. A step that gives up because of it throws `CancelAccepted`. */
  readonly cancelRequested: () => boolean
  /** Aborted when the service stops: long steps leave at once, by `throwIfAborted`, and are taken up at the next start. */
  readonly stopping: AbortSignal
}

/**
 * Told when the last record of a task that succeeds is written, before it is durable: whatever is written from then on sees
 * it, and is not durable without it.
 */
export type Written = () => void

/** What only a step knows of its task. */
export interface TaskChanges {
  readonly batchSummary?: {
    readonly numberOfJobs: number
    readonly numberOfJobsSuccessful: number
    readonly numberOfJobsFailed: number
  }
  /** Of one that tells of its parts: their number, and the first of them. */
  readonly numberOfSubtasks?: number
  readonly subTasks?: { readonly extId: string; readonly rel: string }[]
}

export interface RecordContext<D> extends Omit<StepContext<D>, 'store'> {
  readonly store: Transaction
  readonly startTask: StartTask
  /** Further details, warnings and affected entities of this task. */
  complete(details: readonly CompletionDetail[]): void
  warn(message: AppMessage | string): void
  affect(entity: AffectedEntity): void
}

export interface TaskEnd {
  readonly extId: string
  readonly status: string
  readonly errorMessages: readonly AppMessage[]
  readonly entitiesAffected: readonly AffectedEntity[]
}

export interface CompletionDetail {
  readonly name: string
  readonly value: unknown
}

export interface Step<D, I> {
  readonly name: string
  /** Progress of the task when this step is done, in percent. */
  readonly progress: number
  /** Usual duration in world seconds (median, p95), for the profile `natural`. */
  readonly seconds?: readonly [median: number, p95: number]
  /** Acts on the outside world. May run again after a crash, with the same `callKey`. Writes nothing to the store. */
  readonly run?: (ctx: StepContext<D>, input: I) => Promise<unknown>
  /**
   * False: for this task there is nothing to do outside; `run` is left out, and nobody waits until the records in front of the
   * step are durable. Asked before they are, and before the task itself is: what it finds must not depend on them, and one that
   * throws may act. Absent: it always acts.
   */
  readonly acts?: (ctx: StepContext<D>, input: I) => Promise<boolean>
  /** Writes what came of it, in the transaction that marks the step done. `keep` replaces the step's output: ids of sub-tasks. */
  readonly record?: (ctx: RecordContext<D>, input: I, output: any) => Promise<void | { readonly keep: unknown }>
  /** What `run` did stays done: once it has succeeded, the task only goes forward. When it fails, the task is undone. */
  readonly isIrreversible?: true
  /** Takes the effect on the outside world back. Runs also when `run` failed half-way. */
  readonly undo?: (ctx: StepContext<D>, input: I) => Promise<void>
  /** Takes back what `record` wrote. */
  readonly unrecord?: (ctx: RecordContext<D>, input: I) => Promise<void>
}

export interface TaskDefinition<D, I> {
  /** Stable name, `networking.create-subnet`: what a stored task is found by after a restart. */
  readonly name: string
  readonly steps: readonly Step<D, I>[]
  /** Last words after everything was undone: removes what the request itself wrote. Same transaction as the task's end. */
  readonly onUndone?: (ctx: RecordContext<D>, input: I) => Promise<void>
  /** A cancel is accepted until this step has begun; absent: never. */
  readonly cancelableUntil?: string
  /** After this step has begun the task only goes forward: it is retried until done. */
  readonly pointOfNoReturn?: string
  /** It has so many parts that its row is not written for each: its steps say which it has, by `partsOf`. */
  readonly recordsSubtasks?: true
  /** What it works on ends with the process: a start that finds it unfinished turns it back. */
  readonly endsWithProcess?: true
  /** What a dry run reports. Reads only. */
  readonly plan?: (ctx: StepContext<D>, input: I) => Promise<Plan>
}

export interface Plan {
  readonly changes: readonly { readonly attribute: string; readonly from: string; readonly to: string }[]
  readonly warnings?: readonly string[]
  readonly problems?: readonly AppMessage[]
}

export const defineTask = <D, I>(definition: TaskDefinition<D, I>): TaskDefinition<D, I> => definition

export interface AffectedEntity {
  readonly extId: string
  readonly name?: string
  /** Canonical: `platform:config:category`. */
  readonly rel: string
}

export interface TaskOptions {
  /** Identifier that the kind's page gives, e.g. `kSubnetCreate`. */
  readonly operation: string
  /** For people; default: the identifier. */
  readonly description?: string
  readonly affected: readonly AffectedEntity[]
  readonly clusterExtIds?: readonly string[]
  /** Ids of everything that the task changes: tasks that share one run one after another. Default: the affected entities. */
  readonly locks?: readonly string[]
  readonly parent?: string
  readonly appName?: string
  readonly completionDetails?: readonly CompletionDetail[]
  /** Work that the system started itself, and owns. */
  readonly background?: boolean
  /** Key of the operation that asked for it; a part has that of its whole. */
  readonly startedBy?: string
}

/** Stores a task in the transaction at hand; it runs after the commit. */
export type StartTask = <I>(
  definition: TaskDefinition<any, I>,
  input: I,
  options: TaskOptions,
) => Promise<{ readonly extId: string }>

/** Takes up a task. `accepted`: the commit of its acceptance, where that is still to come; it acts after that. */
export type Begin = (accepted?: Promise<void>) => void

/** Where tasks of a transaction are started from. */
export interface TaskStarter {
  /** The `startTask` of a transaction; `afterwards` lets each task begin when its acceptance is written. */
  starter(
    transaction: Transaction,
    owner: Caller,
    afterwards: (begin: Begin) => void,
    dryRun?: boolean,
    ids?: Ids,
  ): StartTask
}

/** A step gave up because a cancel was asked for: the task is undone and ends CANCELED. */
export class CancelAccepted extends Error {}

/** The outside world refused or did not answer; core decides what clients see. */
export class DriverError extends Error {
  readonly retryable: boolean
  /** Key of the error that the task shows; default BACKEND_TIMEOUT for retryable ones, INTERNAL_ERROR else. */
  readonly appMessage: AppMessage | undefined
  constructor(message: string, options: { retryable: boolean; cause?: unknown; appMessage?: AppMessage }) {
    super(message, { cause: options.cause })
    this.retryable = options.retryable
    this.appMessage = options.appMessage
  }
}
