import type { Operation } from '@hyperplane/contract'
import type { Reader, Store } from '../../store/store.ts'
import type { Audit } from '../access/audit.ts'
import type { RateLimiter } from '../access/rate-limit.ts'
import type { WriteContext } from '../context.ts'
import type { Faults } from '../faults.ts'
import type { AnyHandler, AnyPrepare, AnyRule, Computed, Presenter } from '../handlers.ts'
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
  /** Rules that span several kinds. Run last, because they depend on state. */
  readonly admit: (ctx: WriteContext<D>, input: RequestInput) => Promise<void>
  readonly presenters: ReadonlyMap<string, readonly Presenter<D>[]>
  readonly computed: ReadonlyMap<string, Computed<D>>
  /** Serialises mutations of an entity: one transaction does not cover a `TwoPhaseEffect`. `key`: of the request id. */
  readonly serialised?: <T>(
    operation: Operation,
    input: RequestInput,
    key: string | undefined,
    work: () => Promise<T>,
  ) => Promise<T>
  readonly spool?: Spool
  /** Another pipeline that handles the operation after authorization. */
  readonly forward?: (operation: Operation, request: ApiRequest) => Dispatch | undefined
  readonly faults?: Faults
  readonly log: { error(details: object, message: string): void }
}

export type MutationMachinery<D> = Omit<
  Machinery<D>,
  'store' | 'router' | 'names' | 'authenticator' | 'limiter' | 'presenters' | 'spool' | 'forward' | 'faults'
> & { readonly store: Reader & Pick<Store, 'transaction' | 'stage'> }
