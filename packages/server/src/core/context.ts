import type { AnyResource, EntityOf, Operation } from '@hyperplane/contract'
import type { TypedFilter } from '../odata/index.ts'
import type { Reader, Transaction } from '../store/store.ts'
import type { Caller } from './caller.ts'
import type { Kinds } from './ports.ts'
import type { StartTask } from './tasks/define-task.ts'
import type { World } from './world.ts'

/** @typeParam T the entity that the path names: undefined if none, unknown if rows of the kind are not stored */
export interface ReadContext<D = unknown, T = unknown, P extends string = string> extends World<D> {
  readonly operation: Operation
  readonly caller: Caller
  readonly store: Reader
  readonly kinds: Kinds
  /** Exists, and the caller may see and use it. */
  readonly target: T
  /** By parameter; `parentOf` returns an entity with its type. */
  readonly parents: { readonly [Parameter in P]: unknown }
  readonly version: string
  /** undefined: all. */
  scopeOf(kind: string): Promise<TypedFilter | 'none' | undefined>
  readonly unknown: 'refuse' | 'ignore'
  warn(message: string): void
  /** Call it for each result that follows from the store alone, not from time or drivers: the answer is kept for clients that poll. */
  followsStore(): void
  /** In a transaction of its own; the response does not wait for it. */
  noteUse(write: (transaction: Transaction) => Promise<void>): void
}

export interface WriteContext<D = unknown, T = unknown, P extends string = string> extends ReadContext<D, T, P> {
  readonly store: Transaction
  readonly dryRun: boolean
  readonly startTask: StartTask
  afterCommit(work: () => void): void
}

/** @throws Error where the operation declares another kind for the parameter: a mistake in the handler */
export function parentOf<P extends string, R extends AnyResource>(
  { operation, parents }: Pick<ReadContext<unknown, unknown, P>, 'operation' | 'parents'>,
  parameter: NoInfer<P>,
  kind: R,
): EntityOf<R> {
  const declared = operation.pathKinds[parameter]
  if (declared === kind.kind) return parents[parameter] as EntityOf<R>
  throw new Error(`{${parameter}} of ${operation.key} names the kind ${declared ?? 'none'}, not ${kind.kind}`)
}
