/** Traffic that the network carried. Equal calls have equal results. Source: behaviour networking.md 3.3. */
export interface FlowStatistics {
  /** Undefined: the external subnet is not attached to the VPC. */
  attachedSince(vpcExtId: string, subnetExtId: string): Promise<number | undefined>
  /** Traffic over the 30 s before each time (multiples of 30 s, ascending), and in total since the subnet was attached. */
  northSouth(vpcExtId: string, subnetExtId: string, times: readonly number[]): Promise<readonly NorthSouthReading[]>

  /** Traffic of a VPN connection over the 30 s before each time (as above). Whole numbers. */
  throughput(connectionExtId: string, times: readonly number[]): Promise<readonly ThroughputReading[]>
}

export interface ThroughputReading {
  readonly receivedKbps: number
  readonly transmittedKbps: number
}

export type NorthSouthReading = Readonly<
  Record<`northSouth${'Ingress' | 'Egress'}${'Bytes' | 'Packets'}${'PerSec' | 'Abs'}`, number>
>
