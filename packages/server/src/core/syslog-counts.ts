/** Syslog lines of all worlds of this process, for `/metrics`. */
export const syslogLines = {
  /** Handed to the network; over RELP, acknowledged. */
  sent: 0,
  /** Dropped from full queues. */
  lost: 0,
}
