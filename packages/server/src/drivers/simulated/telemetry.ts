/** Measurements as a pure function of the world's seed, the VM and the time. Source: behaviour vmm.md 3.8; clustermgmt.md 3. */
import {
  type DiskReading,
  type DriveState,
  type HostReading,
  type MeasuredVm,
  type Run,
  readingSeconds,
  type Telemetry,
  type VmReading,
} from '../telemetry.ts'
import { readBalancer } from './balancer-traffic.ts'
import { createBlockReadings } from './block-load.ts'
import { diskReading } from './disk-load.ts'
import { changesOf, isFilling, stateAt } from './drive-history.ts'
import { type DriveFact, driveFacts, drivesIn, formerDrives } from './drives.ts'
import type { Flows } from './flows/flows.ts'
import { guestKey, loadAt, networkAt, type Profile, profileOf, slowSeconds } from './guest-load.ts'
import { memberSince } from './nodes.ts'
import { keyOf, noise, smooth } from './noise.ts'
import { downtimeFacts, slowdownIn, slownessFacts, wasDown } from './past-times.ts'
import { readStretch } from './stretch-traffic.ts'
import type { SimulatedWorld } from './world.ts'

/** Different numbers give independent draws for the same time; 3 and 6 are those of the load, 11 and above those of disks. */
const draws = {
  cpu: 1,
  slow: 2,
  memory: 4,
  ready: 5,
  gpu: 7,
  boot: 8,
  io: 9,
  held: 10,
}

const hour = 3600
const bootSeconds = 45
const memorySeconds = 4 * hour

export function createTelemetry(
  world: SimulatedWorld,
  flows: Pick<Flows, 'connectedShares' | 'lostBy' | 'world'>,
): Telemetry {
  const slowness = slownessFacts(world)
  const downtimes = downtimeFacts(world)
  const slowdownAt = (hostExtId: string, time: number): number => slowdownIn(slowness.get(hostExtId), time)
  const read: Telemetry['read'] = async (vm, times) => {
    const key = guestKey(world.seed, vm.extId)
    const lostAt = flows.lostBy(vm.extId)
    const profile = profileOf(vm.name, key)
    let at = 0
    const readings: (VmReading | undefined)[] = []
    for (const time of times) {
      while (at < vm.runs.length && (vm.runs[at] as Run).to < time) at++
      const run = vm.runs[at]
      if (run === undefined || time <= run.from) {
        readings.push(undefined)
        continue
      }
      const lost = lostAt?.(time) ?? 0
      const circumstances = {
        slowdown: slowdownAt(run.hostExtId, time),
        lost: lost instanceof Promise ? await lost : lost,
      }
      readings.push(readingOf(vm, key, profile, run, time / 1000, circumstances))
    }
    return readings
  }
  return {
    read,
    readBlockDisk: createBlockReadings(world, slowdownAt),
    readBalancer: async (sessionExtId, measured, times) => readBalancer(flows, read, { sessionExtId, measured, times }),
    readStretch: async (stretchExtId, members, times) => readStretch(flows, read, stretchExtId, members, times),
    readDrives: async (hostExtId, times) => readDrives(world, hostExtId, times),
    async readHost(hostExtId, times) {
      const key = keyOf(`${world.seed}/telemetry/host/${hostExtId}`)
      const down = downtimes.get(hostExtId)
      const since = memberSince(world, hostExtId)
      return times.map((time) => (time <= since || wasDown(down, time) ? undefined : hostReadingOf(key, time / 1000)))
    },
  }
}

const hostReadingOf = (key: number, second: number): HostReading => ({
  cpuPpm: ppm(0.06 + 0.06 * smooth(key, draws.slow, second, slowSeconds)),
  systemMemoryPpm: ppm(0.6 + 0.35 * smooth(key, draws.memory, second, memorySeconds)),
})

interface Circumstances {
  readonly slowdown: number
  /** Bytes a second that were sent to the VM and did not arrive. */
  readonly lost: number
}

const noTraffic = { received: 0, transmitted: 0 }

function readingOf(
  vm: MeasuredVm,
  key: number,
  profile: Profile,
  run: Run,
  second: number,
  { slowdown, lost }: Circumstances,
): VmReading {
  const isBooting = second - run.startedAt / 1000 <= bootSeconds
  const load = loadAt(key, second)
  const [least, most] = profile.cpu
  const cpu = isBooting ? 0.6 + 0.35 * noise(key, draws.boot, second) : least + (most - least) * load
  const memory = clamp(profile.memory + 0.3 * (smooth(key, draws.memory, second, memorySeconds) - 0.5), 0.15, 0.9)
  const { received, transmitted } = vm.connectedNics === 0 ? noTraffic : networkAt(key, profile, second, load)
  return {
    run,
    cpuPpm: ppm(cpu),
    cpuReadyPpm: Math.floor(20_000 * cpu * noise(key, draws.ready, second)),
    guestMemoryPpm: ppm(memory),
    hypervisorMemoryPpm: ppm(Math.min(1, memory + 0.02 + 0.06 * noise(key, draws.held, second))),
    allocatedMemoryPpm: vm.isOvercommitted ? ppm(0.6 + 0.4 * memory) : 1_000_000,
    receivedBytes: readingSeconds * (received - lost),
    transmittedBytes: readingSeconds * transmitted,
    gpuPpm: vm.hasGpu ? ppm(load) : 0,
    hypervisorIoPpm: Math.floor(30_000 * noise(key, draws.io, second)),
    disks: throttled(
      vm.disks.map((disk, index) =>
        diskReading(disk, index, key, profile, {
          second,
          load: isBooting ? 1 : load,
          // The system disk is less busy than data disks.
          part: index === 0 ? 0.5 : 0.8,
          hostExtId: run.hostExtId,
          slowdown,
        }),
      ),
      vm.throttledIops,
    ),
  }
}

function throttled(disks: readonly DiskReading[], limit: number | undefined): readonly DiskReading[] {
  const requestedIops = disks.reduce((sum, { readIops, writeIops }) => sum + readIops + writeIops, 0)
  if (limit === undefined || limit === 0 || requestedIops <= limit) return disks
  const share = limit / requestedIops
  return disks.map((disk) => ({
    ...disk,
    readIops: Math.floor(disk.readIops * share),
    writeIops: Math.floor(disk.writeIops * share),
  }))
}

const ppm = (share: number): number => Math.round(1e6 * share)
const clamp = (value: number, least: number, most: number): number => Math.min(most, Math.max(least, value))

/** @param times ascending */
function readDrives(
  world: SimulatedWorld,
  hostExtId: string,
  times: readonly number[],
): readonly (readonly DriveState[])[] {
  const drives = drivesOfHost(world, hostExtId)
  const downtimes = downtimeFacts(world).get(hostExtId)
  const slowness = slownessFacts(world).get(hostExtId)
  const since = memberSince(world, hostExtId)
  const changes = [
    since,
    ...changesOf({ outages: downtimes?.times, slowTimes: slowness?.times }),
    ...drives.flatMap(([, fact]) => changesOf(fact)),
  ]
  let states: readonly DriveState[] = []
  let until = Number.NEGATIVE_INFINITY
  return times.map((time) => {
    if (time <= until) return states
    const slowdown = slowdownIn(slowness, time)
    const isDown = time <= since || wasDown(downtimes, time)
    states = isDown ? [] : drives.flatMap(([extId, fact]) => stateAt(extId, fact, time, slowdown) ?? [])
    until = drives.some(([, fact]) => isFilling(fact, time)) ? time : nextChange(changes, time)
    return states
  })
}

const nextChange = (changes: readonly number[], time: number): number =>
  changes.reduce((next, change) => (change >= time && change < next ? change : next), Number.POSITIVE_INFINITY)

/** Includes former drives; by slot. */
function drivesOfHost(world: SimulatedWorld, hostExtId: string): readonly (readonly [string, DriveFact])[] {
  const present = drivesIn(world, hostExtId).map(({ extId }) => [extId, driveFacts(world).get(extId)] as const)
  const former = [...formerDrives(world).all()].filter(([, fact]) => fact.hostExtId === hostExtId)
  const all = new Map([...former, ...present] as readonly (readonly [string, DriveFact])[])
  return [...all].sort(([, a], [, b]) => a.slot - b.slot)
}
