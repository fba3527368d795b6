/** The context that handlers and steps of every domain receive: core's, with the drivers of this service. */

import type { AnyResource, OperationSet } from '@hyperplane/contract'
import type { ReadContext as CoreReadContext, WriteContext as CoreWriteContext } from '../core/context.ts'
import type { Domain, DomainParts, Handlers } from '../core/handlers.ts'
import { defineTask as coreDefineTask, type TaskDefinition } from '../core/tasks/define-task.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { Reader } from '../store/store.ts'
import type { Limit } from './limits.ts'

export { parentOf } from '../core/context.ts'

export type ReadContext<T = unknown, P extends string = string> = CoreReadContext<Drivers, T, P>
export type WriteContext<T = unknown, P extends string = string> = CoreWriteContext<Drivers, T, P>

/** A violation of an invariant. */
export interface Broken {
  /** Ids of the entities that disagree: while a task holds one of them, they need not agree. */
  readonly about: readonly (string | undefined)[]
  /** A sentence without its full stop. */
  readonly fault: string
}

/** A rule between the rows of a store that is true while no task changes them. Source: conventions 18.2, 18.3, 23. */
export interface Invariant {
  /** The rule, as a sentence. */
  readonly promise: string
  /** @param held ids of the entities that running tasks have locked */
  readonly look: (store: Reader, held: ReadonlySet<string>) => AsyncIterable<Broken>
}

/** What a kind declares beside its handlers: core's parts, and those that only the domains use. */
export interface KindParts<S extends OperationSet, N extends string, K extends readonly AnyResource[]>
  extends DomainParts<Drivers, S, K> {
  readonly limits?: readonly Limit<N>[]
  readonly invariants?: readonly Invariant[]
  /** Rows that no operation shows and that this kind keeps. */
  readonly records?: readonly AnyResource[]
}

export interface KindDomain extends Domain<Drivers> {
  readonly limits: readonly Limit[]
  readonly invariants: readonly Invariant[]
  readonly records: readonly AnyResource[]
}

/** Says what the operations of a kind do; one that is missing does not compile. Lists and gets come for free. */
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
    schedules: parts.schedules ?? [],
    limits: parts.limits ?? [],
    invariants: parts.invariants ?? [],
    records: parts.records ?? [],
  }
}

export const defineTask = <I>(definition: TaskDefinition<Drivers, I>): TaskDefinition<Drivers, I> =>
  coreDefineTask(definition)
