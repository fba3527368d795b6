/** Core's context types with the drivers of this service, and what a kind declares. */

import type { AnyResource, OperationSet } from '@hyperplane/contract'
import { type NameIn, names } from '@hyperplane/contract/names'
import { isInScope } from '../core/access/scope.ts'
import type { ApiError } from '../core/api-error.ts'
import type { ReadContext as CoreReadContext, WriteContext as CoreWriteContext } from '../core/context.ts'
import type { Domain, DomainParts, Handlers } from '../core/handlers.ts'
import {
  type AffectedEntity,
  type RecordContext as CoreRecordContext,
  type Step as CoreStep,
  type StepContext as CoreStepContext,
  type TaskDefinition as CoreTaskDefinition,
  defineTask as coreDefineTask,
} from '../core/tasks/define-task.ts'
import type { Schedule as CoreSchedule, ScheduleContext as CoreScheduleContext } from '../core/time/schedules.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { Reader } from '../store/store.ts'
import type { Limit } from './limits.ts'

export { parentOf } from '../core/context.ts'
export {
  type AffectedEntity,
  CancelAccepted,
  type CompletionDetail,
  DriverError,
  type Plan,
  type TaskChanges,
  type TaskEnd,
  type TaskOptions,
  taskNamed,
  throwIfCanceled,
} from '../core/tasks/define-task.ts'
export { together } from '../core/time/schedules.ts'

export type ReadContext<T = unknown, P extends string = string> = CoreReadContext<Drivers, T, P>
export type WriteContext<T = unknown, P extends string = string> = CoreWriteContext<Drivers, T, P>
export type StepContext = CoreStepContext<Drivers>
export type RecordContext = CoreRecordContext<Drivers>
export type Step<I> = CoreStep<Drivers, I>
export type TaskDefinition<I> = CoreTaskDefinition<Drivers, I>
export type Schedule = CoreSchedule<Drivers>
export type ScheduleContext = CoreScheduleContext<Drivers>

export interface Broken {
  /** Ids of the contradicting entities; if a running task has locked one, the violation is ignored. */
  readonly about: readonly (string | undefined)[]
  /** A sentence without its full stop. */
  readonly fault: string
}

/** A rule between the rows of a store that is true while no task changes them. Source: conventions 18.2, 18.3, 23. */
export interface Invariant {
  readonly promise: string
  /** @param held ids of the entities that running tasks have locked */
  readonly look: (store: Reader, held: ReadonlySet<string>) => AsyncIterable<Broken>
}

export interface KindParts<S extends OperationSet, N extends string, K extends readonly AnyResource[]>
  extends DomainParts<Drivers, S, K> {
  readonly limits?: readonly Limit<N>[]
  readonly invariants?: readonly Invariant[]
  /** Internal records of this kind, which no operation returns. */
  readonly records?: readonly AnyResource[]
}

export interface KindDomain extends Domain<Drivers> {
  readonly limits: readonly Limit[]
  readonly invariants: readonly Invariant[]
  readonly records: readonly AnyResource[]
}

/** Declares the behaviour of a kind. A missing handler does not compile; lists and gets have defaults. */
export function implement<
  S extends OperationSet,
  const N extends string = never,
  const K extends readonly AnyResource[] = [],
>(
  operations: S,
  handlers: Handlers<Drivers, S>,
  parts: KindParts<S, N, K> = {},
): KindDomain & { readonly operations: S; readonly limits: readonly Limit<N>[] } {
  return {
    operations,
    handlers: handlers as Domain<Drivers>['handlers'],
    rules: (parts.rules ?? {}) as Domain<Drivers>['rules'],
    prepares: (parts.prepare ?? {}) as Domain<Drivers>['prepares'],
    tasks: parts.tasks ?? [],
    presenters: parts.present ?? [],
    computed: parts.computed ?? [],
    schedules: parts.schedules ?? [],
    limits: parts.limits ?? [],
    invariants: parts.invariants ?? [],
    records: parts.records ?? [],
  }
}

export const defineTask = <I>(definition: TaskDefinition<I>): TaskDefinition<I> => coreDefineTask(definition)

interface Named {
  readonly extId: string
  readonly name?: string | undefined
}

export const affected = (kind: AnyResource, { extId, name }: Named): AffectedEntity => ({
  extId,
  rel: kind.rel,
  ...(name !== undefined && { name }),
})

/** For a task that affects one entity of a cluster. */
export const taskAbout = (operation: string, kind: AnyResource, entity: Named, clusterExtId: string) => ({
  operation,
  affected: [affected(kind, entity)],
  clusterExtIds: [clusterExtId],
})

/** Rules of several operations with the same body. @param ids separated by commas */
export const bodyRules = <const S extends string, B>(ids: S, faults: (body: B) => readonly ApiError[]) =>
  Object.fromEntries(names(ids).map((id) => [id, ({ body }: { readonly body: B }) => faults(body)])) as {
    readonly [K in NameIn<S>]: (request: { readonly body: B }) => readonly ApiError[]
  }

/** Whether the entity exists and a body of the caller may name it. */
export async function mayRefer(
  { caller, operation, services }: Pick<WriteContext, 'caller' | 'operation' | 'services'>,
  kind: AnyResource,
  entity: { readonly extId: string } | undefined,
): Promise<boolean> {
  return entity !== undefined && isInScope(await services.access.referScope(caller, operation, kind), entity)
}
