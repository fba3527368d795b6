/** How busy a simulated guest is, as a pure function of its key and the time. Source: behaviour vmm.md 3.8. */
import { keyOf, noise, smooth } from './noise.ts'

export interface Profile {
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

const draws = { slow: 2, fast: 3, network: 6 }

const hour = 3600
export const slowSeconds = 1800
const weekend = 0.6
const received = 0.4

export const guestKey = (seed: string, vmExtId: string): number => keyOf(`${seed}/telemetry/${vmExtId}`)

export const profileOf = (name: string, key: number): Profile => profiles[profileName(name, key)]

export function profileName(name: string, key: number): keyof typeof profiles {
  const named = namedProfiles.find(([pattern]) => pattern.test(name))
  if (named !== undefined) return named[1]
  const all = Object.keys(profiles) as (keyof typeof profiles)[]
  return all[Math.floor(noise(key, 0, 0) * all.length)]!
}

export const loadAt = (key: number, second: number): number =>
  curveOfDay(second) *
  (0.6 + 0.4 * smooth(key, draws.slow, second, slowSeconds)) *
  (0.8 + 0.2 * noise(key, draws.fast, second))

/** Whole bytes a second over all connected NICs, in the 30 s before `second`. */
export function networkAt(
  key: number,
  profile: Profile,
  second: number,
  load = loadAt(key, second),
): { readonly received: number; readonly transmitted: number } {
  const rate = profile.network * (0.05 + load) * (0.9 + 0.2 * noise(key, draws.network, second))
  return { received: Math.round(rate * received), transmitted: Math.round(rate * (1 - received)) }
}

const lastCurve = { second: -1, value: 0 }

/** 0.15 at 04:00, 1 at 14:00, UTC; less at weekends. Cached, because many guests ask for the same time. */
function curveOfDay(second: number): number {
  if (lastCurve.second !== second) {
    lastCurve.value = newCurveOfDay(second)
    lastCurve.second = second
  }
  return lastCurve.value
}

function newCurveOfDay(second: number): number {
  const time = second % (24 * hour)
  const sinceTrough = (time - 4 * hour + 24 * hour) % (24 * hour)
  const way = sinceTrough <= 10 * hour ? sinceTrough / (10 * hour) : (24 * hour - sinceTrough) / (14 * hour)
  // 1970 began on a Thursday.
  const weekday = (Math.floor(second / (24 * hour)) + 4) % 7
  const ofDay = 0.15 + 0.85 * (0.5 - 0.5 * Math.cos(Math.PI * way))
  return weekday === 0 || weekday === 6 ? ofDay * weekend : ofDay
}
