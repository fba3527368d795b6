/** Messages with flow records, of all worlds of this process, for `/metrics`. */
export const flowMessages = {
  /** Handed to the network. */
  sent: 0,
  /** Without a connection to their collector, or beyond what may wait for it. */
  lost: 0,
}

/** Called when a message has left, or could not leave. */
export const countMessage = (error?: Error | null): void => {
  flowMessages[error ? 'lost' : 'sent']++
}
