export interface ConsoleSession {
  /** Shows the screen now and after each change, as a whole. */
  start(viewer: ConsoleViewer): void
  /** Shows the screen again. */
  refresh(): void
  close(): void
}

export interface ConsoleViewer {
  show(screen: string): void
  ended(why: ConsoleEnd): void
}

export interface ConsoleEnd {
  readonly is: 'MACHINE_STOPPED' | 'RIGHT_LOST' | 'SERVICE_STOPS'
  readonly reason: string
}
