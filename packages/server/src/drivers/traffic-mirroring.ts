/** Copies of traffic on hosts. Idempotent; an absent mirror is no fault. Source: behaviour networking.md 1.16. */
export interface TrafficMirroring {
  /** @throws DriverError, retryable, when the host's agent does not answer within 30 s */
  programMirror(mirror: MirrorProgram): Promise<void>
  removeMirror(mirrorExtId: string): Promise<void>
  mirror(mirrorExtId: string): Promise<MirrorView | undefined>
  /** Totals by each time (multiples of 30 s, ascending). @param since the first 30 s that count end after it */
  mirrored(mirrorExtId: string, since: number, times: readonly number[]): Promise<readonly MirrorReading[]>
}

export interface MirrorProgram {
  readonly extId: string
  readonly hostExtId: string
  readonly isEnabled: boolean
  readonly sources: readonly MirrorSource[]
  readonly destinations: readonly string[]
  /** Sources and destinations that are NICs of the host; the others are NICs of VMs. Absent: none. */
  readonly hostNics?: readonly string[]
  /** A virtual switch carries the copies, so that destinations may be on other hosts. */
  readonly isRemote: boolean
}

export interface MirrorSource {
  readonly nicExtId: string
  /** INGRESS: what the NIC receives; a NIC of a host receives what other hosts and the outside send to its VMs. */
  readonly direction: 'INGRESS' | 'EGRESS' | 'BIDIRECTIONAL'
}

export interface MirrorView {
  readonly state: 'ACTIVE' | 'ERROR' | 'DISABLED'
  readonly message?: string
  /** NICs that work as its ports. */
  readonly upNics: ReadonlySet<string>
}

export interface MirrorReading {
  readonly transmitByteCount: number
  readonly transmitPacketCount: number
}
