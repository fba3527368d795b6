import type { Drive } from './drives.ts'

/** Measurements of virtual machines, hosts and drives. Source: behaviour vmm.md 1.15, 3.8; clustermgmt.md 1.17. */
export interface Telemetry {
  /** Over the 30 s before each time (multiples of 30 s, ascending); undefined: the VM did not run. Equal calls have equal results. */
  read(vm: MeasuredVm, times: readonly number[]): Promise<readonly (VmReading | undefined)[]>
  /** I/O by VMs and external clients, by serving host; empty while the group is not in use. @param hostExtIds of its cluster */
  readBlockDisk(
    disk: BlockDiskRef,
    hostExtIds: readonly string[],
    times: readonly number[],
  ): Promise<readonly (readonly ServedReading[])[]>
  /** Load of the hypervisor and the controller VM; undefined while the host was down or not yet in its cluster. */
  readHost(hostExtId: string, times: readonly number[]): Promise<readonly (HostReading | undefined)[]>
  /** Drives of storage pools that worked, by slot; none while the host was down. The list is the same object while nothing changes. */
  readDrives(hostExtId: string, times: readonly number[]): Promise<readonly (readonly DriveState[])[]>
  /** Between a balancer and present and former targets. Targets whose VM `measured` does not return are left out. */
  readBalancer(
    sessionExtId: string,
    measured: (vmExtIds: readonly string[]) => Promise<readonly MeasuredVm[]>,
    times: readonly number[],
  ): Promise<readonly TargetTraffic[]>
  /** One reading for each time, of VMs' traffic through the stretch. */
  readStretch(
    stretchExtId: string,
    members: readonly MeasuredMember[],
    times: readonly number[],
  ): Promise<readonly StretchReading[]>
}

export interface DriveState extends Pick<Drive, 'extId' | 'sizeBytes' | 'tier'> {
  /** 1 is the speed of a good drive, 2 half of it. */
  readonly slowdown: number
  readonly share: number
  /** Its data is moving to other drives; the pool does not count its capacity. */
  readonly isLeaving: boolean
}

export interface BlockDiskRef extends MeasuredDisk {
  readonly volumeGroupExtId: string
  readonly index: number
}

export interface ServedReading {
  readonly hostExtId: string
  readonly reading: DiskReading
}

export interface MeasuredMember {
  readonly vm: MeasuredVm
  readonly nics: number
}

/** Tenths of milliseconds and of kilobits a second. All are 0 while the path is down. */
export interface StretchReading {
  readonly rtt: number
  readonly throughputRxKbps: number
  readonly throughputTxKbps: number
}

/** Over all ports of the NIC; one reading for each time. */
export interface TargetTraffic {
  readonly nicExtId: string
  readonly readings: readonly TrafficReading[]
}

export interface TrafficReading {
  readonly bytes: number
  readonly packets: number
  readonly requests: number
}

/** `cpuPpm` is a share of the whole host. */
export interface HostReading {
  readonly cpuPpm: number
  /** Used share of the memory of hypervisor and controller VM. */
  readonly systemMemoryPpm: number
}

export const readingSeconds = 30

export interface MeasuredVm {
  readonly extId: string
  readonly name: string
  /** Oldest first, without overlaps. */
  readonly runs: readonly Run[]
  readonly disks: readonly MeasuredDisk[]
  readonly connectedNics: number
  readonly hasGpu: boolean
  readonly isOvercommitted: boolean
  readonly throttledIops?: number
}

/** A period without a change of host or size. */
export interface Run {
  readonly from: number
  readonly to: number
  /** Start of the guest; before `from` if the VM was migrated. */
  readonly startedAt: number
  readonly hostExtId: string
  readonly clusterExtId: string
  readonly memoryBytes: number
  readonly vcpus: number
}

export interface MeasuredDisk {
  readonly extId: string
  readonly isFlash: boolean
}

export interface VmReading {
  readonly run: Run
  readonly cpuPpm: number
  readonly cpuReadyPpm: number
  readonly guestMemoryPpm: number
  /** Never less than the guest's share. */
  readonly hypervisorMemoryPpm: number
  readonly allocatedMemoryPpm: number
  readonly receivedBytes: number
  readonly transmittedBytes: number
  readonly gpuPpm: number
  /** I/O that the hypervisor counts beyond the storage controller, in ppm of the controller's. */
  readonly hypervisorIoPpm: number
  /** In the order of the VM's disks. */
  readonly disks: readonly DiskReading[]
}

/** Operations a second; sizes in KiB; latencies in microseconds. */
export interface DiskReading {
  readonly readIops: number
  readonly writeIops: number
  readonly readSizeKb: number
  readonly writeSizeKb: number
  readonly readMicros: number
  readonly writeMicros: number
  readonly randomPpm: number
}
