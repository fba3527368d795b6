/** A text console that a client watches. */
export interface ConsoleSession {
  /** Shows the screen now and after each change, as a whole. */
  start(viewer: ConsoleViewer): void
  /** Shows the screen again. */
  refresh(): void
  /** Nothing is shown any more. */
  close(): void
}

export interface ConsoleViewer {
  show(screen: string): void
  /** Called once. */
  ended(why: ConsoleEnd): void
}

export interface ConsoleEnd {
  readonly is: 'MACHINE_STOPPED' | 'RIGHT_LOST' | 'SERVICE_STOPS'
  readonly reason: string
}
