/** The result of an operation in canonical names; the naming profile renders it. Stored for retries. */
export interface Reply {
  readonly status: number
  /** Key of the operation that answered; absent for refusals before one was found. */
  readonly operation?: string
  readonly version?: string
  readonly data?: unknown
  readonly etag?: string
  /** Canonical path below /api. */
  readonly location?: string
  readonly total?: number
  readonly page?: { readonly page: number; readonly limit: number }
  readonly truncated?: boolean
  /** Lists: indexes of the entities with a truncated collection. */
  readonly truncatedIndexes?: readonly number[]
  readonly warnings?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly replayed?: boolean
}

/** An answer that is a file or a text, not JSON. */
export interface RawAnswer {
  readonly contentType: string
  readonly fileName?: string
  readonly content: AsyncIterable<Uint8Array> | Uint8Array | string
  readonly contentLength?: number
}
