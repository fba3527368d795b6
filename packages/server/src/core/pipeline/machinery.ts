/** What the steps of the pipeline work with. `instance.ts` joins it, once a store. */

import type { Operation } from '@hyperplane/contract'
import type { Store } from '../../store/store.ts'
import type { Audit } from '../access/audit.ts'
import type { RateLimiter } from '../access/rate-limit.ts'
import type { WriteContext } from '../context.ts'
import type { Faults } from '../faults.ts'
import type { Handler, Prepare, Presenter, Rule } from '../handlers.ts'
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
  readonly handlers: ReadonlyMap<string, Handler<D, any>>
  readonly rules: ReadonlyMap<string, Rule<any>>
  readonly prepares: ReadonlyMap<string, Prepare<D, any>>
  /** Refuses a mutation that its handler would do: what holds for several kinds at once. Asked last, as it is about state. */
  readonly admit: (ctx: WriteContext<D>, input: RequestInput) => Promise<void>
  readonly presenters: ReadonlyMap<string, readonly Presenter<D>[]>
  /**
   * Lets a mutation begin when others of what it changes have ended: where handlers answer `Apart`, transactions alone keep
   * them from each other no longer. `key` names its request id. Absent: none waits.
   */
  readonly serialised?: <T>(
    operation: Operation,
    input: RequestInput,
    key: string | undefined,
    work: () => Promise<T>,
  ) => Promise<T>
  /** Absent: no operation takes forms that are longer than memory is wide. */
  readonly spool?: Spool
  /** Another pipeline that answers for the operation, asked once the caller may use it. Absent: this one answers all. */
  readonly forward?: (operation: Operation, request: ApiRequest) => Dispatch | undefined
  /** Absent: nothing goes wrong on purpose. */
  readonly faults?: Faults
  readonly log: { error(details: object, message: string): void }
}
