import type { Operation } from '@hyperplane/contract'
import type { RateHeaders } from '../access/rate-limit.ts'
import type { Refusal } from '../api-error.ts'
import type { Caller } from '../caller.ts'
import type { Cut } from '../faults.ts'
import type { ClientCertificate } from '../ports.ts'
import type { Trace } from '../recording/trace.ts'
import type { RawAnswer, Reply } from '../reply.ts'

export interface ApiRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: {
    readonly authorization?: string | undefined
    readonly apiKey?: string | undefined
    readonly ifMatch?: string | undefined
    readonly requestId?: string | undefined
    readonly clusterId?: string | undefined
    readonly contentType?: string | undefined
    readonly accept?: string | undefined
    readonly lastEventId?: string | undefined
    readonly range?: string | undefined
  }
  readonly address: string
  /** Set only without the two headers above, because it counts only then. */
  readonly certificate?: ClientCertificate | undefined
  /** Spelling of ids and names in queries and paths; see http/profiles. */
  readonly profile: 'spec' | 'public'
  readonly unknown: 'refuse' | 'ignore'
  /** The client's or a generated one: operators find a request by it in the audit trail. */
  readonly echoedId?: string
  readonly requestIdsDiffer?: boolean
  /** @throws ApiError 413 */
  readonly readBody?: ((maximumBytes: number) => Promise<Uint8Array>) | undefined
  /** Decompressed. @throws ApiError 413, 415 while it is read */
  readonly openBody?: ((maximumBytes: number) => AsyncIterable<Uint8Array>) | undefined
  readonly trace?: Trace | undefined
  /** Why the world cannot check credentials (absent, or does not open). `default` checks them; only administrators learn the reason. */
  readonly misdirected?: Refusal | undefined
  /** Set for a batch element: the submitter, already authenticated and counted. */
  readonly onBehalfOf?: {
    readonly caller: Caller
    readonly body: unknown
    readonly requestId: string
    readonly parentTask: string
    readonly index: number
    /** Resolve when applied, before durable; see `Outcome.durable`. */
    readonly isStaged?: boolean
  }
}

export interface Outcome {
  readonly reply: Reply
  readonly operation?: Operation
  readonly caller?: Caller
  readonly raw?: RawAnswer
  /** For a staged request: its commit. Absent: the effect is durable already. */
  readonly durable?: Promise<void>
  readonly cut?: Cut
  /** One for all requests that get the same answer from the kept reads. */
  readonly rendered?: RenderedAnswer
}

/** Where the server finds the body of a kept answer without a look-up. */
export interface RenderedAnswer {
  latest?: { readonly origin: string; readonly base: string; readonly content: RenderedBody }
}

export interface RenderedBody {
  readonly body: string
  /** The body in UTF-8. */
  readonly bytes: Uint8Array
  /** False once the cache has dropped it. */
  readonly isKept: boolean
}

export class RefusedRequest extends Error {
  readonly refusal: unknown
  readonly operation: Operation | undefined
  readonly namespace: string | undefined
  readonly headers: RateHeaders
  readonly cut: Cut | undefined
  readonly isAuthenticated: boolean
  constructor(
    refusal: unknown,
    operation: Operation | undefined,
    namespace: string | undefined,
    headers: RateHeaders,
    cut?: Cut,
    isAuthenticated = false,
  ) {
    super('refused', { cause: refusal })
    this.refusal = refusal
    this.operation = operation
    this.namespace = namespace
    this.headers = headers
    this.cut = cut
    this.isAuthenticated = isAuthenticated
  }
}

/**
 * @returns no promise if the answer was kept from an earlier request
 * @throws RefusedRequest for everything that is not a success
 */
export type Dispatch = (request: ApiRequest) => Outcome | Promise<Outcome>
