/**
 * Measurements of virtual machines. Implemented by `simulated/` and by each real backend.
 * Source: behaviour vmm.md 1.15, 3.8.
 */
export interface Telemetry {
  /**
   * Measurements over the 30 s before each of these times (milliseconds since 1970, multiples of 30 s, ascending);
   * undefined where the VM did not run. Equal calls always have equal results.
   */
  read(vm: MeasuredVm, times: readonly number[]): Promise<readonly (VmReading | undefined)[]>
  /** The load of a host's hypervisor and controller VM at these times; undefined while the host was down. */
  readHost(hostExtId: string, times: readonly number[]): Promise<readonly (HostReading | undefined)[]>
}

/** Shares in ppm; `cpuPpm` is a share of the whole host. */
export interface HostReading {
  readonly cpuPpm: number
  /** Share in use of the memory that hypervisor and controller VM hold. */
  readonly systemMemoryPpm: number
}

/** Interval between readings in seconds. */
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
  /** Limit of I/O operations per second over all disks. */
  readonly throttledIops?: number
}

/** A period without a change of host or size. Milliseconds since 1970. */
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

/** Whole numbers. */
export interface VmReading {
  readonly run: Run
  readonly cpuPpm: number
  readonly cpuReadyPpm: number
  readonly guestMemoryPpm: number
  /** Share of the VM's memory that the hypervisor uses; never less than the guest's. */
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
