/** What the VMs of a cluster did, summed by host and time, beside what each host is and used itself. */
import type { EntityOf } from '@hyperplane/contract'
import type { Host } from '@hyperplane/contract/clustermgmt/host'
import type { Telemetry } from '../../drivers/telemetry.ts'
import { systemMemoryBytes } from '../scheduling/placement.ts'
import { type Io, ioOf, noIo, sumOf } from './io.ts'
import type { Subject } from './series.ts'

/** What some hosts did together at one time, or on average over several times. All numbers are sums over hosts that were up. */
export interface HostSums extends Io {
  readonly hosts: number
  readonly cpuHz: number
  readonly cpuCapacityHz: number
  /** Memory in use: by guests, hypervisors and controller VMs. */
  readonly memoryBytes: number
  readonly memoryCapacityBytes: number
  readonly capacityBytes: number
  readonly usageBytes: number
  readonly logicalBytes: number
  /** What the data would take on drives without reduction. */
  readonly unreducedBytes: number
}

export type StorageOfHosts = Pick<HostSums, 'capacityBytes' | 'usageBytes' | 'logicalBytes' | 'unreducedBytes'>

/** Readings of VMs after which other requests get a turn. */
const readingsInTurn = 4000

const noStorage: StorageOfHosts = { capacityBytes: 0, usageBytes: 0, logicalBytes: 0, unreducedBytes: 0 }

interface Load {
  io: Io
  cpuHz: number
  memoryBytes: number
}

/**
 * For each time (milliseconds since 1970, ascending) the sums of these hosts; undefined where none of them was up.
 * @param subjects every VM that may have run there
 * @param storageAt storage of all these hosts at that time
 */
export async function sumsOfHosts(
  telemetry: Telemetry,
  hosts: readonly EntityOf<typeof Host>[],
  subjects: readonly Subject[],
  times: readonly number[],
  storageAt: (time: number) => StorageOfHosts,
): Promise<readonly (HostSums | undefined)[]> {
  const loads = new Map(
    hosts.map(({ extId }) => [extId, times.map((): Load => ({ io: noIo, cpuHz: 0, memoryBytes: 0 }))]),
  )
  const hertz = new Map(hosts.map(({ extId, cpuFrequencyHz = 0 }) => [extId, cpuFrequencyHz]))
  let read = 0
  for (const subject of subjects) {
    const readings = await telemetry.read(subject.vm, times)
    for (const [index, reading] of readings.entries()) {
      if (reading === undefined || (times[index] as number) <= subject.createdAt * 1000) continue
      const { hostExtId, vcpus, memoryBytes } = reading.run
      const load = loads.get(hostExtId)?.[index]
      if (load === undefined) continue
      load.io = sumOf([load.io, ...reading.disks.map(ioOf)])
      load.cpuHz += Math.floor((reading.cpuPpm * vcpus * (hertz.get(hostExtId) as number)) / 1e6)
      load.memoryBytes += Math.floor((reading.hypervisorMemoryPpm * memoryBytes) / 1e6)
    }
    read += times.length
    if (read >= readingsInTurn) {
      read = 0
      await new Promise(setImmediate)
    }
  }
  const states = await Promise.all(hosts.map(({ extId }) => telemetry.readHost(extId, times)))
  return times.map((time, index) => {
    let sums: HostSums | undefined
    for (const [at, host] of hosts.entries()) {
      const state = states[at]?.[index]
      const load = loads.get(host.extId)?.[index]
      if (state === undefined || load === undefined) continue
      const { cpuCapacityHz = 0, memorySizeBytes = 0 } = host
      const systemBytes = Math.min(systemMemoryBytes, memorySizeBytes)
      sums = {
        ...sumOf([sums ?? noIo, load.io]),
        hosts: (sums?.hosts ?? 0) + 1,
        // Guests may be promised more than there is; they never get more.
        cpuHz:
          (sums?.cpuHz ?? 0) + Math.min(cpuCapacityHz, load.cpuHz + Math.floor((state.cpuPpm * cpuCapacityHz) / 1e6)),
        cpuCapacityHz: (sums?.cpuCapacityHz ?? 0) + cpuCapacityHz,
        memoryBytes:
          (sums?.memoryBytes ?? 0) +
          Math.min(memorySizeBytes, load.memoryBytes + Math.floor((state.systemMemoryPpm * systemBytes) / 1e6)),
        memoryCapacityBytes: (sums?.memoryCapacityBytes ?? 0) + memorySizeBytes,
        ...noStorage,
      }
    }
    return sums === undefined ? undefined : { ...sums, ...storageAt(time) }
  })
}
