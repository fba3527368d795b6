/** The contexts of handlers. Time, ids, the store and the outside world are handed in, never reached for. */
import type { AnyResource, EntityOf, Operation } from '@hyperplane/contract'
import type { TypedFilter } from '../odata/index.ts'
import type { Reader, Transaction } from '../store/store.ts'
import type { Caller } from './caller.ts'
import type { Kinds } from './ports.ts'
import type { StartTask } from './tasks/define-task.ts'
import type { World } from './world.ts'

/**
 * @typeParam T the entity that the path names: undefined where it names none, unknown where the row of the kind is not stored
 * @typeParam P the other parameters of the path
 */
export interface ReadContext<D = unknown, T = unknown, P extends string = string> extends World<D> {
  readonly operation: Operation
  readonly caller: Caller
  readonly store: Reader
  readonly kinds: Kinds
  /** The entity in the path. The pipeline has found it, and checked that the caller may see and use it. */
  readonly target: T
  /** Entities of the other path parameters, by parameter; `parentOf` answers one with its type. */
  readonly parents: { readonly [Parameter in P]: unknown }
  /** API version of the request, `v4.2`. */
  readonly version: string
  /** The rows of this kind that the caller may see; undefined: all. */
  scopeOf(kind: string): Promise<TypedFilter | 'none' | undefined>
  /** Unknown fields and options of the request: refused, or ignored with a warning. */
  readonly unknown: 'refuse' | 'ignore'
  /** Adds a warning to a successful response (`metadata.messages`). */
  warn(message: string): void
  /** Records a use (`lastUsedTime`), in a transaction of its own that the response does not wait for. */
  noteUse(write: (transaction: Transaction) => Promise<void>): void
}

export interface WriteContext<D = unknown, T = unknown, P extends string = string> extends ReadContext<D, T, P> {
  readonly store: Transaction
  readonly dryRun: boolean
  readonly startTask: StartTask
  /** Runs after the transaction committed: invalidations, wake-ups. */
  afterCommit(work: () => void): void
}

/**
 * The entity that a parameter of the path names.
 * @throws Error where the operation declares another kind for it: a mistake in the handler
 */
export function parentOf<P extends string, R extends AnyResource>(
  { operation, parents }: Pick<ReadContext<unknown, unknown, P>, 'operation' | 'parents'>,
  parameter: NoInfer<P>,
  kind: R,
): EntityOf<R> {
  const declared = operation.pathKinds[parameter]
  if (declared === kind.kind) return parents[parameter] as EntityOf<R>
  throw new Error(`{${parameter}} of ${operation.key} names the kind ${declared ?? 'none'}, not ${kind.kind}`)
}
