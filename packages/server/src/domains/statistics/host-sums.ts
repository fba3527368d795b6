import type { Host } from '@hyperplane/contract/clustermgmt/host'
import type { HostReading, Telemetry } from '../../drivers/telemetry.ts'
import { memoryOf, systemMemoryBytes } from '../scheduling/placement.ts'
import { type Blocks, readBlocks, readingsInTurn } from './blocks.ts'
import { type Io, ioOf, noIo, sumOf } from './io.ts'
import { isPresent, type Subject } from './series.ts'

/** Over hosts that were up: at one time, or on average. */
export interface HostSums extends Io {
  readonly hosts: number
  readonly cpuHz: number
  readonly cpuCapacityHz: number
  /** Guests, hypervisors and controller VMs. */
  readonly memoryBytes: number
  readonly memoryCapacityBytes: number
  readonly capacityBytes: number
  readonly usageBytes: number
  readonly logicalBytes: number
  /** All copies without, and with data reduction. */
  readonly copiedBytes: number
  readonly physicalBytes: number
  readonly reclaimableBytes: number
}

export type StorageOfHosts = Pick<
  HostSums,
  'capacityBytes' | 'copiedBytes' | 'logicalBytes' | 'physicalBytes' | 'reclaimableBytes' | 'usageBytes'
>

/** After so many times the event loop gets a turn. */
const timesInTurn = 500

export const noStorage: StorageOfHosts = {
  ...{ capacityBytes: 0, usageBytes: 0, logicalBytes: 0 },
  ...{ copiedBytes: 0, physicalBytes: 0, reclaimableBytes: 0 },
}
const nothing: HostSums = {
  ...{ ...noIo, ...noStorage },
  ...{ hosts: 0, cpuHz: 0, cpuCapacityHz: 0, memoryBytes: 0, memoryCapacityBytes: 0 },
}

interface Load {
  io: Io
  cpuHz: number
  memoryBytes: number
}

/**
 * @param times milliseconds since 1970, ascending; the result is undefined where every host was down
 * @param subjects every VM that may have run on these hosts
 * @param blocks disks of volume groups that they may have served
 * @param storageAt storage of all these hosts
 */
export async function sumsOfHosts(
  telemetry: Telemetry,
  hosts: readonly Host[],
  { subjects, blocks }: { readonly subjects: readonly Subject[]; readonly blocks: Blocks },
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
      const at = (times[index] as number) / 1000
      const disks = reading.disks.filter((_, disk) => isPresent(subject.disks[disk], at))
      load.io = sumOf([load.io, ...disks.map(ioOf)])
      load.cpuHz += Math.floor((reading.cpuPpm * vcpus * (hertz.get(hostExtId) as number)) / 1e6)
      load.memoryBytes += Math.floor((reading.hypervisorMemoryPpm * memoryBytes) / 1e6)
    }
    read += times.length
    if (read >= readingsInTurn) {
      read = 0
      await new Promise(setImmediate)
    }
  }
  await readBlocks(telemetry, blocks, times, (index, { hostExtId, reading }) => {
    const load = loads.get(hostExtId)?.[index]
    if (load !== undefined) load.io = sumOf([load.io, ioOf(reading)])
  })
  const states = await Promise.all(hosts.map(({ extId }) => telemetry.readHost(extId, times)))
  const all: (HostSums | undefined)[] = []
  for (const [index, time] of times.entries()) {
    if (index % timesInTurn === 0) await new Promise(setImmediate)
    let sums = nothing
    for (const [at, host] of hosts.entries()) {
      const state = states[at]?.[index]
      const load = loads.get(host.extId)?.[index]
      if (state !== undefined && load !== undefined) sums = withHost(sums, host, state, load)
    }
    all.push(sums.hosts === 0 ? undefined : { ...sums, ...storageAt(time) })
  }
  return all
}

/** Load counts up to the capacity of the host, because CPUs and memory may be overcommitted. */
function withHost(sums: HostSums, host: Host, state: HostReading, load: Load): HostSums {
  const { cpuCapacityHz = 0, memorySizeBytes = 0 } = host
  const systemHz = Math.floor((state.cpuPpm * cpuCapacityHz) / 1e6)
  const systemBytes = Math.floor(
    (state.systemMemoryPpm * Math.min(systemMemoryBytes(memoryOf(host)), memorySizeBytes)) / 1e6,
  )
  return {
    ...sums,
    ...sumOf([sums, load.io]),
    hosts: sums.hosts + 1,
    cpuHz: sums.cpuHz + Math.min(cpuCapacityHz, load.cpuHz + systemHz),
    cpuCapacityHz: sums.cpuCapacityHz + cpuCapacityHz,
    memoryBytes: sums.memoryBytes + Math.min(memorySizeBytes, load.memoryBytes + systemBytes),
    memoryCapacityBytes: sums.memoryCapacityBytes + memorySizeBytes,
  }
}
