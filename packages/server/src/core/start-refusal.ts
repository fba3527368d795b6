/** A reason not to start: one line, cause and remedy, printed without a stack. Any other error is a bug. */
export class StartRefusal extends Error {
  override readonly name = 'StartRefusal'

  constructor(message: string, options?: ErrorOptions) {
    super(message.replace(/\s*[\r\n]+\s*/g, ' ').trim(), options)
  }
}

/** `EACCES`, or the message if there is no code. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message
}
