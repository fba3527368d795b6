/** What goes into the pipeline, and what comes out of it. HTTP, batches and tests speak of requests in these words. */

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
    /** Of a stream of events that was read before: the last one that arrived. */
    readonly lastEventId?: string | undefined
  }
  readonly address: string
  /** Of a connection on which the client showed one; only where it counts, which is without the two headers above. */
  readonly certificate?: ClientCertificate | undefined
  /** How public clients write ids and names in queries and paths; see http/profiles. */
  readonly profile: 'spec' | 'public'
  /** Unknown fields and options: refused, or ignored with a warning; see conventions 2.4. */
  readonly unknown: 'refuse' | 'ignore'
  /** The id that the answer echoes: the client's, or one that was made up; what people quote and the audit trail holds. */
  readonly echoedId?: string
  /** The request carried both spellings of the request id header, with different values. */
  readonly requestIdsDiffer?: boolean
  /** Absent: there is no body. @throws ApiError 413 */
  readonly readBody?: ((maximumBytes: number) => Promise<Uint8Array>) | undefined
  /** The same body as it arrives, expanded where it was compressed. @throws ApiError 413, 415 while it is read */
  readonly openBody?: ((maximumBytes: number) => AsyncIterable<Uint8Array>) | undefined
  /** Filled on the way, where somebody records. */
  readonly trace?: Trace | undefined
  /**
   * Why the world that the request names cannot judge its credentials (there is none, it does not open). `default` judges them
   * instead, and tells this to administrators alone: to anybody else, worlds that exist and worlds that do not look alike.
   */
  readonly misdirected?: Refusal | undefined
  /** A batch element: the submitter, already authenticated and counted. */
  readonly onBehalfOf?: {
    readonly caller: Caller
    readonly body: unknown
    readonly requestId: string
    readonly parentTask: string
    /** Its place in the batch, from 0. */
    readonly index: number
    /** The outcome comes when the effect is applied; see `Outcome.durable`. */
    readonly isStaged?: boolean
  }
}

/** A success. */
export interface Outcome {
  readonly reply: Reply
  readonly operation?: Operation
  readonly caller?: Caller
  readonly raw?: RawAnswer
  /** Of a staged request: the commit of its effect. Without it the outcome itself came after the commit. */
  readonly durable?: Promise<void>
  /** How the answer fails to reach the client. */
  readonly cut?: Cut
}

/** A request that ended early, with what was known by then. */
export class RefusedRequest extends Error {
  readonly refusal: unknown
  readonly operation: Operation | undefined
  readonly namespace: string | undefined
  readonly headers: RateHeaders
  /** As that of an outcome. */
  readonly cut: Cut | undefined
  /** Whether the client proved an identity. */
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
