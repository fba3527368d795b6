/** Exports of flow records by hosts. Idempotent; an absent exporter is no fault. Source: behaviour networking.md 1.17. */
export interface FlowExporting {
  /** Replaces the former configuration. @throws DriverError, retryable, when a host does not answer within 30 s */
  programExporter(exporter: ExporterProgram): Promise<void>
  removeExporter(exporterExtId: string): Promise<void>
  exporter(exporterExtId: string): Promise<ExporterProgram | undefined>
}

export interface ExporterProgram {
  readonly extId: string
  readonly collector: {
    readonly address: string
    readonly port: number
    readonly protocol?: 'TCP' | 'TLS_TCP'
  }
  /** Without a host it is idle. */
  readonly hosts: readonly { readonly hostExtId: string; readonly families: readonly ('IPV4' | 'IPV6')[] }[]
  /** Limits each host. */
  readonly bitsPerSecond?: number
}

/** Carries messages to collectors outside. */
export interface FlowCollectors {
  /** Why nothing is sent to the address; undefined: it is. */
  refusalOf(address: string): string | undefined
  /** Returns at once, so that no collector delays others; lost messages are counted. */
  send(collector: ExporterProgram['collector'], message: Uint8Array): void
  close(): void
}
