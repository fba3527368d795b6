/** The dependencies of the pipeline's steps. `instance.ts` assembles them, once for each store. */

import type { Operation } from '@hyperplane/contract'
import type { Reader, Store } from '../../store/store.ts'
import type { Audit } from '../access/audit.ts'
import type { RateLimiter } from '../access/rate-limit.ts'
import type { WriteContext } from '../context.ts'
import type { Faults } from '../faults.ts'
import type { AnyHandler, AnyPrepare, AnyRule, Presenter } from '../handlers.ts'
import type { Idempotency } from '../idempotency.ts'
import type { EntityTags } from '../ids/etag.ts'
import type { RequestInput } from '../input/request-input.ts'
import type { Spool } from '../input/spooled-form.ts'
import type { AccessControl, Authenticator, CanonicalNames, Kinds } from '../ports.ts'
import type { Router } from '../router.ts'
import type { TaskStarter } from '../tasks/define-task.ts'
import type { World } from '../world.ts'
import type { ApiRequest, Dispatch } from './request.ts'

export interface Machinery<D> {
  readonly world: World<D>
  readonly store: Store
  readonly router: Router
  readonly names: CanonicalNames
  readonly kinds: Kinds
  readonly authenticator: Authenticator
  readonly access: AccessControl
  readonly limiter: RateLimiter
  readonly tags: EntityTags
  readonly idempotency: Idempotency
  readonly audit: Audit
  readonly runner: TaskStarter
  readonly handlers: ReadonlyMap<string, AnyHandler>
  readonly rules: ReadonlyMap<string, AnyRule>
  readonly prepares: ReadonlyMap<string, AnyPrepare>
  /**
   * Checks rules that span several kinds, and refuses the mutation if one is broken. Runs last, because the rules
   * depend on state.
   */
  readonly admit: (ctx: WriteContext<D>, input: RequestInput) => Promise<void>
  readonly presenters: ReadonlyMap<string, readonly Presenter<D>[]>
  /**
   * Serialises mutations of the same entity. Needed where handlers return `TwoPhaseEffect`, because one transaction
   * does not cover the whole mutation. `key`: that of its request id. Absent: no mutation waits.
   */
  readonly serialised?: <T>(
    operation: Operation,
    input: RequestInput,
    key: string | undefined,
    work: () => Promise<T>,
  ) => Promise<T>
  /** Absent: no operation accepts forms larger than memory. */
  readonly spool?: Spool
  /**
   * Returns another pipeline that handles the operation, after authorization. Absent: this pipeline handles all
   * operations.
   */
  readonly forward?: (operation: Operation, request: ApiRequest) => Dispatch | undefined
  /** Absent: fault injection is off. */
  readonly faults?: Faults
  readonly log: { error(details: object, message: string): void }
}

/** The dependencies of a mutation after its input is validated. A seed performs operations with these alone. */
export type MutationMachinery<D> = Omit<
  Machinery<D>,
  'store' | 'router' | 'names' | 'authenticator' | 'limiter' | 'presenters' | 'spool' | 'forward' | 'faults'
> & { readonly store: Reader & Pick<Store, 'transaction' | 'stage'> }
