/** Slow work as named steps, each with its undo. Source: conventions 18. */

import type { Reader, Transaction } from '../../store/store.ts'
import type { AppMessage } from '../api-error.ts'
import type { Caller, Ids } from '../caller.ts'
import type { World } from '../world.ts'

export interface StepContext<D> extends World<D> {
  readonly store: Reader
  readonly taskExtId: string
  /** Drivers treat calls with equal keys as one call. */
  readonly callKey: string
  readonly owner: Caller
  readonly outputs: Readonly<Record<string, unknown>>
  progress(percentage: number): Promise<void>
  /**
   * Writes partial results and progress, durably; after a crash `run` starts again and must find them. `percentage` undefined: the task's
   * row changes only if `write` changes the task.
   */
  checkpoint(
    percentage: number | undefined,
    write: (ctx: RecordContext<D>) => Promise<TaskChanges | void>,
  ): Promise<void>
  untilEnded(taskExtIds: readonly string[], written?: Written): Promise<readonly TaskEnd[]>
  /** A step that stops because of it throws `CancelAccepted`. */
  readonly cancelRequested: () => boolean
  /** Aborted when the service stops; the step resumes at the next start. */
  readonly stopping: AbortSignal
}

/** Called when the last record of a task is written, before it is durable. */
export type Written = () => void

export interface TaskChanges {
  readonly batchSummary?: {
    readonly numberOfJobs: number
    readonly numberOfJobsSuccessful: number
    readonly numberOfJobsFailed: number
  }
  readonly numberOfSubtasks?: number
  readonly subTasks?: { readonly extId: string; readonly rel: string }[]
}

export interface RecordContext<D> extends Omit<StepContext<D>, 'store'> {
  readonly store: Transaction
  readonly startTask: StartTask
  complete(details: readonly CompletionDetail[]): void
  /** Sealed at rest; other readers see the task without any completion details. Called once in a task. */
  completeForOwner(details: readonly CompletionDetail[]): void
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
  /** Progress of the task in percent when this step is done; default: 100, for the last step. */
  readonly progress?: number
  /** World seconds, for the profile `natural`. */
  readonly seconds?: readonly [median: number, p95: number]
  /** Number of waits of `seconds`, for a step that handles several things in turn. Default: once. */
  readonly times?: (ctx: StepContext<D>, input: I) => Promise<number>
  /** External effect; may run again after a crash, with the same `callKey`. Writes nothing to the store. */
  readonly run?: (ctx: StepContext<D>, input: I) => Promise<unknown>
  /** False: skips `run`, without waiting until earlier records are durable; must not depend on those. Absent, or on an error: true. */
  readonly acts?: (ctx: StepContext<D>, input: I) => Promise<boolean>
  /** In the transaction that marks the step done. `keep` replaces the step's output. */
  // A method, so that a step may declare the type of what its own `run` returned.
  record?(ctx: RecordContext<D>, input: I, output: unknown): Promise<void | { readonly keep: unknown }>
  /** Once `run` has succeeded, the task only goes forward. */
  readonly isIrreversible?: true
  /** Also after `run` failed half-way. */
  readonly undo?: (ctx: StepContext<D>, input: I) => Promise<void>
  readonly unrecord?: (ctx: RecordContext<D>, input: I) => Promise<void>
}

export interface TaskDefinition<D, I> {
  /** A stored task refers to it after a restart: never rename. */
  readonly name: string
  readonly steps: readonly Step<D, I>[]
  /** In the transaction that ends the task; removes what the request itself wrote. */
  readonly onUndone?: (ctx: RecordContext<D>, input: I) => Promise<void>
  /** Absent: the task cannot be cancelled. */
  readonly cancelableUntil?: string
  /** After this step has begun the task is retried until done. */
  readonly pointOfNoReturn?: string
  /** For many subtasks: steps report them with `subtasksOf`, instead of one update of the row for each. */
  readonly recordsSubtasks?: true
  /** Unfinished tasks are rolled back at the next start. */
  readonly endsWithProcess?: true
  readonly plan?: (ctx: StepContext<D>, input: I) => Promise<Plan>
}

/** `any`: each definition takes the input of its own tasks, which the runner reads back from the row. */
export type AnyTask<D> = TaskDefinition<D, any>
export type AnyStep<D> = Step<D, any>

export interface Plan {
  readonly changes: readonly { readonly attribute: string; readonly from: string; readonly to: string }[]
  readonly warnings?: readonly string[]
  readonly problems?: readonly AppMessage[]
  /** In the transaction that ends the dry run; of a plan without problems only. */
  readonly keep?: (store: Transaction) => Promise<void>
}

export const defineTask = <D, I>(definition: TaskDefinition<D, I>): TaskDefinition<D, I> => definition

/** A task that another namespace defines under this name. `any`: as in `StartTask`. */
export const taskNamed = <I>(name: string): TaskDefinition<any, I> => ({ name, steps: [] })

export interface AffectedEntity {
  readonly extId: string
  readonly name?: string
  readonly rel: string
}

export interface TaskOptions {
  readonly operation: string
  readonly description?: string
  readonly affected: readonly AffectedEntity[]
  readonly clusterExtIds?: readonly string[]
  /** Tasks with a common lock run one after another. Default: the affected entities. */
  readonly locks?: readonly string[]
  readonly parent?: string
  /** Default: the namespace in the name of the task. */
  readonly appName?: string
  readonly completionDetails?: readonly CompletionDetail[]
  readonly background?: boolean
  readonly startedBy?: string
}

/** The task runs after the commit. `any`: the drivers come from the runner. */
export type StartTask = <I>(
  definition: TaskDefinition<any, I>,
  input: I,
  options: TaskOptions,
) => Promise<{ readonly extId: string }>

/** `accepted`: the pending commit of the acceptance; external effects wait for it. */
export type Begin = (accepted?: Promise<void>) => void

export interface TaskStarter {
  /** `afterwards` receives the function that starts the task once its acceptance is written. */
  starter(
    transaction: Transaction,
    owner: Caller,
    afterwards: (begin: Begin) => void,
    dryRun?: boolean,
    ids?: Ids,
  ): StartTask
}

export class CancelAccepted extends Error {}

/** For a step that can be ended at this point. @throws CancelAccepted; the reason of `stopping` */
export function throwIfCanceled(ctx: Pick<StepContext<unknown>, 'cancelRequested' | 'stopping'>): void {
  ctx.stopping.throwIfAborted()
  if (ctx.cancelRequested()) throw new CancelAccepted()
}

export class DriverError extends Error {
  readonly retryable: boolean
  /** Default: BACKEND_TIMEOUT if retryable, else INTERNAL_ERROR. */
  readonly appMessage: AppMessage | undefined
  static readonly final = (message: string): DriverError => new DriverError(message, { retryable: false })
  static readonly retryable = (message: string): DriverError => new DriverError(message, { retryable: true })
  constructor(message: string, options: { retryable: boolean; cause?: unknown; appMessage?: AppMessage }) {
    super(message, { cause: options.cause })
    this.retryable = options.retryable
    this.appMessage = options.appMessage
  }
}
