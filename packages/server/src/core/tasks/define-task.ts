/** Types with which a domain describes slow work: named steps, each with its undo beside it. Source: conventions 18. */

import type { Reader, Transaction } from '../../store/store.ts'
import type { AppMessage } from '../api-error.ts'
import type { Caller, Ids } from '../caller.ts'
import type { World } from '../world.ts'

export interface StepContext<D> extends World<D> {
  readonly store: Reader
  readonly taskExtId: string
  /** Idempotency key of this step for drivers: equal keys are the same call. */
  readonly callKey: string
  readonly owner: Caller
  /** Results of earlier steps of this task, by step name. */
  readonly outputs: Readonly<Record<string, unknown>>
  progress(percentage: number): Promise<void>
  /**
   * Writes partial results of a long step and the task's progress, durably, in one transaction. The step is not done by
   * that: after a crash `run` starts again and must find out what was written. With `undefined`, the task's row changes
   * only if `write` changes the task.
   */
  checkpoint(
    percentage: number | undefined,
    write: (ctx: RecordContext<D>) => Promise<TaskChanges | void>,
  ): Promise<void>
  /** Resolves when all of these tasks have ended, with their final states in order. */
  untilEnded(taskExtIds: readonly string[], written?: Written): Promise<readonly TaskEnd[]>
  /** True once a cancel is requested. A step that stops because of it throws `CancelAccepted`. */
  readonly cancelRequested: () => boolean
  /** Aborted when the service stops: long steps end by `throwIfAborted`, and resume at the next start. */
  readonly stopping: AbortSignal
}

/**
 * Called when the last record of a successful task is written, before it is durable: transactions from then on see it
 * and depend on it.
 */
export type Written = () => void

/** Changes of the task's row that only its steps know. */
export interface TaskChanges {
  readonly batchSummary?: {
    readonly numberOfJobs: number
    readonly numberOfJobsSuccessful: number
    readonly numberOfJobsFailed: number
  }
  /** For a parent task that records its subtasks itself: their number, and the first of them. */
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
  /** Typical duration in world seconds (median, p95), for the profile `natural`. */
  readonly seconds?: readonly [median: number, p95: number]
  /** Acts on the outside world. May run again after a crash, with the same `callKey`. Writes nothing to the store. */
  readonly run?: (ctx: StepContext<D>, input: I) => Promise<unknown>
  /**
   * False: the step has no external effect for this task; `run` is skipped, and the step does not wait until earlier
   * records are durable. Called before those are durable, so the answer must not depend on them; an error counts as
   * true. Absent: always true.
   */
  readonly acts?: (ctx: StepContext<D>, input: I) => Promise<boolean>
  /**
   * Writes the result, in the transaction that marks the step done. `keep` replaces the step's output: ids of subtasks.
   */
  // A method, so that a step may declare the type of what its own `run` returned.
  record?(ctx: RecordContext<D>, input: I, output: unknown): Promise<void | { readonly keep: unknown }>
  /**
   * The effect of `run` cannot be undone: once it has succeeded, the task only goes forward. If it fails, the task is
   * rolled back.
   */
  readonly isIrreversible?: true
  /** Reverts the effect on the outside world. Also runs if `run` failed half-way. */
  readonly undo?: (ctx: StepContext<D>, input: I) => Promise<void>
  readonly unrecord?: (ctx: RecordContext<D>, input: I) => Promise<void>
}

export interface TaskDefinition<D, I> {
  /** Stable name, `networking.create-subnet`; a stored task refers to it after a restart. */
  readonly name: string
  readonly steps: readonly Step<D, I>[]
  /** Runs after all steps are undone: removes what the request itself wrote. In the transaction that ends the task. */
  readonly onUndone?: (ctx: RecordContext<D>, input: I) => Promise<void>
  /** A cancel is accepted until this step has begun; absent: never. */
  readonly cancelableUntil?: string
  /** After this step has begun the task only goes forward: it is retried until done. */
  readonly pointOfNoReturn?: string
  /** The task has so many subtasks that its row is not updated for each: its steps report them, with `subtasksOf`. */
  readonly recordsSubtasks?: true
  /** The task cannot continue in another process: a start that finds it unfinished rolls it back. */
  readonly endsWithProcess?: true
  /** The report of a dry run. Only reads. */
  readonly plan?: (ctx: StepContext<D>, input: I) => Promise<Plan>
}

/**
 * A definition among others. `any`: each takes the input of its own tasks, which the runner reads back as it was stored.
 */
export type AnyTask<D> = TaskDefinition<D, any>
export type AnyStep<D> = Step<D, any>

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
  readonly description?: string
  readonly affected: readonly AffectedEntity[]
  readonly clusterExtIds?: readonly string[]
  /**
   * Ids of everything that the task changes: tasks with a common lock run one after another. Default: the affected
   * entities.
   */
  readonly locks?: readonly string[]
  readonly parent?: string
  readonly appName?: string
  readonly completionDetails?: readonly CompletionDetail[]
  readonly background?: boolean
  /** Key of the operation that requested the task; a subtask inherits that of its parent. */
  readonly startedBy?: string
}

/** Stores a task in the current transaction; it runs after the commit. `any`: the drivers come from the runner. */
export type StartTask = <I>(
  definition: TaskDefinition<any, I>,
  input: I,
  options: TaskOptions,
) => Promise<{ readonly extId: string }>

/**
 * Starts an accepted task. `accepted`: the commit of its acceptance, if that is still pending; external effects wait
 * for it.
 */
export type Begin = (accepted?: Promise<void>) => void

export interface TaskStarter {
  /**
   * The `startTask` of a transaction; `afterwards` receives the function that starts the task once its acceptance is
   * written.
   */
  starter(
    transaction: Transaction,
    owner: Caller,
    afterwards: (begin: Begin) => void,
    dryRun?: boolean,
    ids?: Ids,
  ): StartTask
}

/** A step stopped because of a cancel request: the task is rolled back and ends CANCELED. */
export class CancelAccepted extends Error {}

/** The outside world refused or did not answer; core decides which error clients see. */
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
