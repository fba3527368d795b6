export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** undefined: no body. */
  readonly body?: string
  /** The body in UTF-8, if it is kept for further answers. */
  readonly bytes?: Uint8Array
}
