export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** undefined: no body. */
  readonly body?: string
}
