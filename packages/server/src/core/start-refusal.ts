/**
 * A reason not to start. The message is one line: the cause, then the remedy. `main.ts` prints it to stderr and exits 1;
 * any other error is a bug and gets a stack.
 */
export class StartRefusal extends Error {
  override readonly name = 'StartRefusal'

  constructor(message: string, options?: ErrorOptions) {
    super(message.replace(/\s*[\r\n]+\s*/g, ' ').trim(), options)
  }
}

/** The reason of a system error, short: `EACCES`, or the message if there is no code. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message
}
