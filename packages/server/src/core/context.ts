/** The contexts of handlers. Time, ids, the store and the outside world are handed in, never reached for. */
import type { Operation } from '@hyperplane/contract'
import type { TypedFilter } from '../odata/index.ts'
import type { Reader, Row, Transaction } from '../store/store.ts'
import type { Caller } from './caller.ts'
import type { Kinds } from './ports.ts'
import type { StartTask } from './tasks/define-task.ts'
import type { World } from './world.ts'

export interface ReadContext<D = unknown, T = any> extends World<D> {
  readonly operation: Operation
  readonly caller: Caller
  readonly store: Reader
  readonly kinds: Kinds
  /** The entity in the path. The pipeline has found it, and checked that the caller may see and use it. */
  readonly target: T
  readonly row: Row<T> | undefined
  /** Entities of the other path parameters, by parameter. */
  readonly parents: Readonly<Record<string, any>>
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

export interface WriteContext<D = unknown, T = any> extends ReadContext<D, T> {
  readonly store: Transaction
  readonly dryRun: boolean
  readonly startTask: StartTask
  /** Runs after the transaction committed: invalidations, wake-ups. */
  afterCommit(work: () => void): void
}
