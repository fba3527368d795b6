import type { Host } from '@hyperplane/contract/clustermgmt/host'
import type { HostReading, Telemetry } from '../../drivers/telemetry.ts'
import { memoryOf, systemMemoryBytes } from '../scheduling/placement.ts'
import { type Blocks, readBlocks, readingsInTurn } from './blocks.ts'
import { addIo, type Io, type IoSum, ioOf, noIo } from './io.ts'
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

type Sums = { -readonly [Figure in keyof HostSums]: number }

export type StorageOfHosts = Pick<
  HostSums,
  'capacityBytes' | 'copiedBytes' | 'logicalBytes' | 'physicalBytes' | 'reclaimableBytes' | 'usageBytes'
>

const timesInTurn = 500

export const noStorage: StorageOfHosts = {
  ...{ capacityBytes: 0, usageBytes: 0, logicalBytes: 0 },
  ...{ copiedBytes: 0, physicalBytes: 0, reclaimableBytes: 0 },
}
const nothing: HostSums = {
  ...{ ...noIo, ...noStorage },
  ...{ hosts: 0, cpuHz: 0, cpuCapacityHz: 0, memoryBytes: 0, memoryCapacityBytes: 0 },
}

/** Guests on one host at one time. */
interface Load {
  readonly io: IoSum
  cpuHz: number
  memoryBytes: number
}

/** By host; a list has no load at times at which the host had no guests. */
type Loads = ReadonlyMap<string, (Load | undefined)[]>

/**
 * undefined where every host was down. @param times milliseconds since 1970, ascending @param subjects VMs that may have run on these hosts
 * @param blocks disks of volume groups that they may have served @param stateAt storage of all these hosts, and further figures
 */
export async function sumsOfHosts<S extends StorageOfHosts>(
  telemetry: Telemetry,
  hosts: readonly Host[],
  guests: { readonly subjects: readonly Subject[]; readonly blocks: Blocks },
  times: readonly number[],
  stateAt: (time: number) => S,
): Promise<readonly ((HostSums & S) | undefined)[]> {
  const loads = await loadsOf(telemetry, hosts, guests, times)
  const all = times.map((): Sums => ({ ...nothing }))
  for (const host of hosts) {
    const own = loads.get(host.extId)
    for (const [index, state] of (await telemetry.readHost(host.extId, times)).entries())
      if (state !== undefined) addHost(all[index] as Sums, host, state, own?.[index])
    await new Promise(setImmediate)
  }
  const result: ((HostSums & S) | undefined)[] = []
  for (const [index, time] of times.entries()) {
    if (index % timesInTurn === 0) await new Promise(setImmediate)
    const sums = all[index] as Sums
    result.push(sums.hosts === 0 ? undefined : Object.assign(sums, stateAt(time)))
  }
  return result
}

async function loadsOf(
  telemetry: Telemetry,
  hosts: readonly Host[],
  { subjects, blocks }: { readonly subjects: readonly Subject[]; readonly blocks: Blocks },
  times: readonly number[],
): Promise<Loads> {
  const loads: Loads = new Map(hosts.map(({ extId }) => [extId, []]))
  const loadOf = (hostExtId: string, index: number): Load | undefined => {
    const own = loads.get(hostExtId)
    if (own === undefined) return undefined
    return (own[index] ??= { io: { ...noIo }, cpuHz: 0, memoryBytes: 0 })
  }
  const hertz = new Map(hosts.map(({ extId, cpuFrequencyHz = 0 }) => [extId, cpuFrequencyHz]))
  let read = 0
  for (const subject of subjects) {
    const readings = await telemetry.read(subject.vm, times)
    for (const [index, reading] of readings.entries()) {
      if (reading === undefined || (times[index] as number) <= subject.createdAt * 1000) continue
      const { hostExtId, vcpus, memoryBytes } = reading.run
      const load = loadOf(hostExtId, index)
      if (load === undefined) continue
      const at = (times[index] as number) / 1000
      for (const [disk, io] of reading.disks.entries()) if (isPresent(subject.disks[disk], at)) addIo(load.io, ioOf(io))
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
    const load = loadOf(hostExtId, index)
    if (load !== undefined) addIo(load.io, ioOf(reading))
  })
  return loads
}

/** Load counts up to the capacity of the host, because CPUs and memory may be overcommitted. */
function addHost(sums: Sums, host: Host, state: HostReading, load: Load | undefined): void {
  const { cpuCapacityHz = 0, memorySizeBytes = 0 } = host
  const systemHz = Math.floor((state.cpuPpm * cpuCapacityHz) / 1e6)
  const systemBytes = Math.floor(
    (state.systemMemoryPpm * Math.min(systemMemoryBytes(memoryOf(host)), memorySizeBytes)) / 1e6,
  )
  if (load !== undefined) addIo(sums, load.io)
  sums.hosts += 1
  sums.cpuHz += Math.min(cpuCapacityHz, (load?.cpuHz ?? 0) + systemHz)
  sums.cpuCapacityHz += cpuCapacityHz
  sums.memoryBytes += Math.min(memorySizeBytes, (load?.memoryBytes ?? 0) + systemBytes)
  sums.memoryCapacityBytes += memorySizeBytes
}
