/** Messages with flow records, of all worlds of this process, for `/metrics`. */
export const flowMessages = {
  sent: 0,
  /** Without a connection to the collector, or beyond the queue's limit. */
  lost: 0,
}

export const countMessage = (error?: Error | null): void => {
  flowMessages[error ? 'lost' : 'sent']++
}
