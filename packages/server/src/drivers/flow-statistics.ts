/** Traffic that the network carried. Equal calls have equal results. Source: behaviour networking.md 3.3. */
export interface FlowStatistics {
  /** Milliseconds since 1970; undefined: the external subnet is not attached to the VPC. */
  attachedSince(vpcExtId: string, subnetExtId: string): Promise<number | undefined>
  /**
   * Traffic of a VPC through an attached external subnet, over the 30 s before each time (milliseconds since 1970, multiples
   * of 30 s, ascending), and in total since it was attached.
   */
  northSouth(vpcExtId: string, subnetExtId: string, times: readonly number[]): Promise<readonly NorthSouthReading[]>

  /** Traffic of a VPN connection over the 30 s before each time (as above). */
  throughput(connectionExtId: string, times: readonly number[]): Promise<readonly ThroughputReading[]>
}

/** Whole numbers. */
export interface ThroughputReading {
  readonly receivedKbps: number
  readonly transmittedKbps: number
}

/** Whole numbers. */
export type NorthSouthReading = Readonly<
  Record<`northSouth${'Ingress' | 'Egress'}${'Bytes' | 'Packets'}${'PerSec' | 'Abs'}`, number>
>
