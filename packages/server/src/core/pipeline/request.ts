/** Input and output of the pipeline. HTTP, batches and tests use these types. */

import type { Operation } from '@hyperplane/contract'
import type { RateHeaders } from '../access/rate-limit.ts'
import type { Refusal } from '../api-error.ts'
import type { Caller } from '../caller.ts'
import type { Cut } from '../faults.ts'
import type { ClientCertificate } from '../ports.ts'
import type { Trace } from '../recording/trace.ts'
import type { RawAnswer, Reply } from '../reply.ts'

/** A request in canonical names. */
export interface ApiRequest {
  readonly method: string
  /** Below /api, `/platform/v4.3/config/categories`. */
  readonly path: string
  /** Text after `?`. */
  readonly query: string
  readonly headers: {
    readonly authorization?: string | undefined
    readonly apiKey?: string | undefined
    readonly ifMatch?: string | undefined
    readonly requestId?: string | undefined
    readonly clusterId?: string | undefined
    readonly contentType?: string | undefined
    readonly accept?: string | undefined
    /** The last event that the client received, when it resumes a stream of events. */
    readonly lastEventId?: string | undefined
  }
  readonly address: string
  /** The client certificate of the connection; only set without the two headers above, because it counts only then. */
  readonly certificate?: ClientCertificate | undefined
  /** How public clients write ids and names in queries and paths; see http/profiles. */
  readonly profile: 'spec' | 'public'
  /** Unknown fields and options: refused, or ignored with a warning; see conventions 2.4. */
  readonly unknown: 'refuse' | 'ignore'
  /**
   * The id that the response echoes: the client's, or a generated one. Operators find a request by it; the audit trail
   * holds it.
   */
  readonly echoedId?: string
  /** The request carried both spellings of the request id header, with different values. */
  readonly requestIdsDiffer?: boolean
  /** Reads the body; absent: there is none. @throws ApiError 413 */
  readonly readBody?: ((maximumBytes: number) => Promise<Uint8Array>) | undefined
  /** The body as a stream, decompressed. @throws ApiError 413, 415 while it is read */
  readonly openBody?: ((maximumBytes: number) => AsyncIterable<Uint8Array>) | undefined
  /** Filled by the steps, if the request is recorded. */
  readonly trace?: Trace | undefined
  /**
   * Why the world in the request cannot check its credentials (it does not exist, or does not open). The world
   * `default` checks them instead, and reveals the reason to administrators only: all others cannot tell which worlds
   * exist.
   */
  readonly misdirected?: Refusal | undefined
  /** A batch element: the submitter, already authenticated and counted. */
  readonly onBehalfOf?: {
    readonly caller: Caller
    readonly body: unknown
    readonly requestId: string
    readonly parentTask: string
    /** Index in the batch, from 0. */
    readonly index: number
    /** Resolve when the effect is applied, before it is durable; see `Outcome.durable`. */
    readonly isStaged?: boolean
  }
}

export interface Outcome {
  readonly reply: Reply
  readonly operation?: Operation
  readonly caller?: Caller
  readonly raw?: RawAnswer
  /** For a staged request: the commit of its effect. Absent: the effect is durable already. */
  readonly durable?: Promise<void>
  /** How the response is cut off on its way to the client. */
  readonly cut?: Cut
}

/** A refused request, with everything known at that point. */
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

/** @throws RefusedRequest for everything that is not a success */
export type Dispatch = (request: ApiRequest) => Promise<Outcome>
