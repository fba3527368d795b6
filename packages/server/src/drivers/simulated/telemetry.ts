/** Measurements as a pure function of the world's seed, the VM and the time. Source: behaviour vmm.md 3.8. */
import type { DiskReading, HostReading, MeasuredDisk, MeasuredVm, Run, Telemetry, VmReading } from '../telemetry.ts'
import { readBalancer } from './balancer-traffic.ts'
import { downtimeFacts, slownessFacts } from './hardware.ts'
import { keyOf, noise, smooth } from './noise.ts'
import { readStretch } from './stretch-traffic.ts'
import type { SimulatedWorld } from './world.ts'

interface Profile {
  /** Share of busy vCPUs at no and at full load. */
  readonly cpu: readonly [number, number]
  readonly memory: number
  readonly iops: number
  readonly readShare: number
  readonly readSizeKb: number
  readonly writeSizeKb: number
  readonly random: number
  /** Bytes a second at full load. */
  readonly network: number
}

const profiles = {
  idle: {
    cpu: [0.01, 0.05],
    memory: 0.2,
    iops: 6,
    readShare: 0.3,
    readSizeKb: 8,
    writeSizeKb: 8,
    random: 0.6,
    network: 4e3,
  },
  web: {
    cpu: [0.05, 0.55],
    memory: 0.45,
    iops: 80,
    readShare: 0.75,
    readSizeKb: 16,
    writeSizeKb: 8,
    random: 0.7,
    network: 6e6,
  },
  database: {
    cpu: [0.1, 0.7],
    memory: 0.7,
    iops: 1500,
    readShare: 0.6,
    readSizeKb: 8,
    writeSizeKb: 16,
    random: 0.9,
    network: 3e6,
  },
  batch: {
    cpu: [0.05, 0.95],
    memory: 0.5,
    iops: 600,
    readShare: 0.5,
    readSizeKb: 128,
    writeSizeKb: 64,
    random: 0.15,
    network: 2e6,
  },
  desktop: {
    cpu: [0.02, 0.4],
    memory: 0.4,
    iops: 50,
    readShare: 0.6,
    readSizeKb: 24,
    writeSizeKb: 16,
    random: 0.65,
    network: 3e5,
  },
} as const satisfies Record<string, Profile>

const namedProfiles: readonly (readonly [RegExp, keyof typeof profiles])[] = [
  [/web|www|nginx|proxy|front/i, 'web'],
  [/db|sql|mongo|oracle|database|erp/i, 'database'],
  [/batch|job|build|ci-|worker/i, 'batch'],
  [/desktop|vdi|windows/i, 'desktop'],
]

/** Different numbers give independent draws for the same time. */
const draws = {
  cpu: 1,
  slow: 2,
  fast: 3,
  memory: 4,
  ready: 5,
  network: 6,
  gpu: 7,
  boot: 8,
  io: 9,
  held: 10,
  host: 11,
  disk: 16,
}

const hour = 3600
const bootSeconds = 45
const slowSeconds = 1800
const memorySeconds = 4 * hour
const weekend = 0.6

export function createTelemetry(world: SimulatedWorld): Telemetry {
  const slowness = slownessFacts(world)
  const downtimes = downtimeFacts(world)
  const slowdownAt = (hostExtId: string, time: number): number =>
    slowness.get(hostExtId)?.times.find(({ from, to = Number.POSITIVE_INFINITY }) => from < time && time <= to)
      ?.factor ?? 1
  const read: Telemetry['read'] = async (vm, times) => {
    const key = keyOf(`${world.seed}/telemetry/${vm.extId}`)
    const profile = profileOf(vm.name, key)
    let at = 0
    return times.map((time) => {
      while (at < vm.runs.length && (vm.runs[at] as Run).to < time) at++
      const run = vm.runs[at]
      if (run === undefined || time <= run.from) return undefined
      return readingOf(vm, key, profile, run, time / 1000, slowdownAt(run.hostExtId, time))
    })
  }
  return {
    read,
    readBalancer: (sessionExtId, measured, times) => readBalancer(world, read, { sessionExtId, measured, times }),
    readStretch: (stretchExtId, members, times) => readStretch(world, read, stretchExtId, members, times),
    async readHost(hostExtId, times) {
      const key = keyOf(`${world.seed}/telemetry/host/${hostExtId}`)
      const down = downtimes.get(hostExtId)?.times ?? []
      return times.map((time) => {
        if (down.some(({ from, to = Number.POSITIVE_INFINITY }) => from < time && time <= to)) return undefined
        return hostReadingOf(key, time / 1000)
      })
    },
  }
}

const hostReadingOf = (key: number, second: number): HostReading => ({
  cpuPpm: ppm(0.06 + 0.06 * smooth(key, draws.slow, second, slowSeconds)),
  systemMemoryPpm: ppm(0.6 + 0.35 * smooth(key, draws.memory, second, memorySeconds)),
})

function profileOf(name: string, key: number): Profile {
  const named = namedProfiles.find(([pattern]) => pattern.test(name))
  if (named !== undefined) return profiles[named[1]]
  const all = Object.values(profiles)
  return all[Math.floor(noise(key, 0, 0) * all.length)] as Profile
}

function readingOf(
  vm: MeasuredVm,
  key: number,
  profile: Profile,
  run: Run,
  second: number,
  slowdown: number,
): VmReading {
  const isBooting = second - run.startedAt / 1000 <= bootSeconds
  const slow = 0.6 + 0.4 * smooth(key, draws.slow, second, slowSeconds)
  const load = curveOfDay(second) * slow * (0.8 + 0.2 * noise(key, draws.fast, second))
  const [least, most] = profile.cpu
  const cpu = isBooting ? 0.6 + 0.35 * noise(key, draws.boot, second) : least + (most - least) * load
  const memory = clamp(profile.memory + 0.3 * (smooth(key, draws.memory, second, memorySeconds) - 0.5), 0.15, 0.9)
  const network =
    vm.connectedNics === 0 ? 0 : profile.network * 30 * (0.05 + load) * (0.9 + 0.2 * noise(key, draws.network, second))
  return {
    run,
    cpuPpm: ppm(cpu),
    cpuReadyPpm: Math.floor(20_000 * cpu * noise(key, draws.ready, second)),
    guestMemoryPpm: ppm(memory),
    hypervisorMemoryPpm: ppm(Math.min(1, memory + 0.02 + 0.06 * noise(key, draws.held, second))),
    allocatedMemoryPpm: vm.isOvercommitted ? ppm(0.6 + 0.4 * memory) : 1_000_000,
    receivedBytes: Math.round(network * 0.4),
    transmittedBytes: Math.round(network * 0.6),
    gpuPpm: vm.hasGpu ? ppm(load) : 0,
    hypervisorIoPpm: Math.floor(30_000 * noise(key, draws.io, second)),
    disks: throttled(
      vm.disks.map((disk, index) =>
        diskReading(disk, index, key, profile, run, second, isBooting ? 1 : load, slowdown),
      ),
      vm.throttledIops,
    ),
  }
}

function diskReading(
  disk: MeasuredDisk,
  index: number,
  key: number,
  profile: Profile,
  run: Run,
  second: number,
  load: number,
  slowdown: number,
): DiskReading {
  const draw = (number: number): number => noise(key, draws.disk + 8 * index + number, second)
  // The system disk is less busy than data disks.
  const part = index === 0 ? 0.5 : 0.8
  const iops = Math.round(profile.iops * part * load * (0.7 + 0.6 * draw(0)))
  const readIops = Math.round(iops * clamp(profile.readShare + 0.2 * (draw(1) - 0.5), 0, 1))
  const busy = 0.6 * smooth(keyOf(run.hostExtId), draws.host, second, slowSeconds)
  const wait = (slowdown * (disk.isFlash ? 0.6 : 1)) / (1 - busy)
  return {
    readIops,
    writeIops: iops - readIops,
    readSizeKb: Math.round(clamp(profile.readSizeKb * (0.7 + 0.6 * draw(2)), 4, 256)),
    writeSizeKb: Math.round(clamp(profile.writeSizeKb * (0.7 + 0.6 * draw(3)), 4, 256)),
    readMicros: Math.round((300 + 900 * draw(4)) * wait),
    writeMicros: Math.round((400 + 1200 * draw(5)) * wait),
    randomPpm: ppm(clamp(profile.random + 0.1 * (draw(6) - 0.5), 0, 1)),
  }
}

function throttled(disks: readonly DiskReading[], limit: number | undefined): readonly DiskReading[] {
  const asked = disks.reduce((sum, { readIops, writeIops }) => sum + readIops + writeIops, 0)
  if (limit === undefined || limit === 0 || asked <= limit) return disks
  const share = limit / asked
  return disks.map((disk) => ({
    ...disk,
    readIops: Math.floor(disk.readIops * share),
    writeIops: Math.floor(disk.writeIops * share),
  }))
}

/** 0.15 at 04:00, 1 at 14:00, UTC; less at weekends. */
function curveOfDay(second: number): number {
  const time = second % (24 * hour)
  const sinceTrough = (time - 4 * hour + 24 * hour) % (24 * hour)
  const way = sinceTrough <= 10 * hour ? sinceTrough / (10 * hour) : (24 * hour - sinceTrough) / (14 * hour)
  // 1970 began on a Thursday.
  const weekday = (Math.floor(second / (24 * hour)) + 4) % 7
  const ofDay = 0.15 + 0.85 * (0.5 - 0.5 * Math.cos(Math.PI * way))
  return weekday === 0 || weekday === 6 ? ofDay * weekend : ofDay
}

const ppm = (share: number): number => Math.round(1e6 * share)
const clamp = (value: number, least: number, most: number): number => Math.min(most, Math.max(least, value))
