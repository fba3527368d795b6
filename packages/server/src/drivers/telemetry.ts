/**
 * What is measured of virtual machines. Implemented by `simulated/` and by each real backend.
 * Source: behaviour vmm.md 1.15, 3.8.
 */
export interface Telemetry {
  /**
   * What the VM did in the 30 s before each of these times (milliseconds since 1970, multiples of 30 s, ascending);
   * undefined where it did not run. The same question has the same answer, for ever.
   */
  read(vm: MeasuredVm, times: readonly number[]): Promise<readonly (VmReading | undefined)[]>
  /** What the system of a host itself used at these times, beside its VMs; undefined where the host was down. */
  readHost(hostExtId: string, times: readonly number[]): Promise<readonly (HostReading | undefined)[]>
}

/** Shares of the whole host, of a million. */
export interface HostReading {
  readonly cpuPpm: number
  /** Of the memory that hypervisor and controller VM hold, the share in use. */
  readonly systemMemoryPpm: number
}

/** Seconds from one reading to the next. */
export const readingSeconds = 30

export interface MeasuredVm {
  readonly extId: string
  readonly name: string
  /** When it ran, oldest first, without overlaps. */
  readonly runs: readonly Run[]
  readonly disks: readonly MeasuredDisk[]
  readonly connectedNics: number
  readonly hasGpu: boolean
  readonly isOvercommitted: boolean
  /** Most I/O operations a second, of all disks together. */
  readonly throttledIops?: number
}

/** A time without a change of host or size. Milliseconds since 1970. */
export interface Run {
  readonly from: number
  readonly to: number
  /** When its guest began: before `from` when it only moved. */
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

/** Whole numbers. */
export interface VmReading {
  readonly run: Run
  readonly cpuPpm: number
  readonly cpuReadyPpm: number
  readonly guestMemoryPpm: number
  /** Of the VM's memory, what the hypervisor holds; never less than the guest uses. */
  readonly hypervisorMemoryPpm: number
  readonly allocatedMemoryPpm: number
  readonly receivedBytes: number
  readonly transmittedBytes: number
  readonly gpuPpm: number
  /** What the hypervisor counts beyond the storage controller, of a million. */
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
