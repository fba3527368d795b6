/** The result of an operation in canonical names; the naming profile renders it. Stored for retries. */
export interface Reply {
  readonly status: number
  readonly operation?: string
  readonly version?: string
  readonly data?: unknown
  readonly etag?: string
  readonly location?: string
  readonly total?: number
  readonly page?: { readonly page: number; readonly limit: number }
  readonly truncated?: boolean
  readonly truncatedIndexes?: readonly number[]
  readonly warnings?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly replayed?: boolean
}

export interface RawAnswer {
  /** Default: that of the operation. */
  readonly status?: 206
  readonly headers?: Readonly<Record<string, string>>
  readonly contentType: string
  readonly fileName?: string
  readonly content: AsyncIterable<Uint8Array> | Uint8Array | string
  readonly contentLength?: number
}
