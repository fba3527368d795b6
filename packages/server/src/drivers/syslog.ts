/** Syslog lines and how they leave. Source: behaviour clustermgmt.md 1.11; RFC 5424. */

/** By falling urgency, as RFC 5424 numbers them. */
export const severities = ['EMERGENCY', 'ALERT', 'CRITICAL', 'ERROR', 'WARNING', 'NOTICE', 'INFO', 'DEBUG'] as const
export type Severity = (typeof severities)[number]

export interface LogLine {
  readonly module: string
  readonly severity: Severity
  readonly time: number
  /** Type of the message, such as an operation. */
  readonly id: string
  readonly text: string
  readonly parameters?: Readonly<Record<string, string | number | undefined>>
  /** Found by a monitor, not work of the module itself. */
  readonly isOfMonitor?: true
}

export interface ClusterLogs {
  /** The cluster sends the line to the rsyslog servers of its settings that want it. Returns at once. */
  log(clusterExtId: string, line: LogLine): void
}

export interface SyslogReceiver {
  readonly address: string
  readonly port: number
  readonly protocol: 'UDP' | 'TCP' | 'RELP'
}

/** Used once: after its end another one replaces it. */
export interface SyslogConnection {
  /** Limit for unacknowledged messages. */
  readonly window: number
  /** In the order of the calls. @param done it has left this process (RELP: the receiver has it); not called after the end */
  send(message: string, done: () => void): void
  /** Earlier messages are delivered if the receiver still takes them. */
  close(): void
}

export interface ConnectionEvents {
  /** Messages may be sent from now on. */
  readonly onOpen: () => void
  /** At most once, also if the connection never opened; not after `close`. */
  readonly onEnd: () => void
}

export type ConnectSyslog = (receiver: SyslogReceiver, events: ConnectionEvents) => SyslogConnection

export interface SyslogTransports {
  /** Why nothing is sent to the address; undefined: it is. */
  refusalOf(address: string): string | undefined
  readonly connect: ConnectSyslog
}
