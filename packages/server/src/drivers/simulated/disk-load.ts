/** I/O of one virtual disk under a load. Source: behaviour vmm.md 3.8. */
import type { DiskReading, MeasuredDisk } from '../telemetry.ts'
import { type Profile, slowSeconds } from './guest-load.ts'
import { keyOf, noise, smooth } from './noise.ts'

/** Independent of other measurements. */
const draws = { host: 11, disk: 16 }

interface Circumstances {
  /** Seconds since 1970. */
  readonly second: number
  readonly load: number
  /** Share of the profile's operations that go to this disk. */
  readonly part: number
  readonly hostExtId: string
  readonly slowdown: number
}

export function diskReading(
  disk: Pick<MeasuredDisk, 'isFlash'>,
  index: number,
  key: number,
  profile: Pick<Profile, 'iops' | 'readShare' | 'readSizeKb' | 'writeSizeKb' | 'random'>,
  { second, load, part, hostExtId, slowdown }: Circumstances,
): DiskReading {
  const draw = (number: number): number => noise(key, draws.disk + 8 * index + number, second)
  const iops = Math.round(profile.iops * part * load * (0.7 + 0.6 * draw(0)))
  const readIops = Math.round(iops * clamp(profile.readShare + 0.2 * (draw(1) - 0.5), 0, 1))
  const busy = 0.6 * smooth(keyOf(hostExtId), draws.host, second, slowSeconds)
  const wait = (slowdown * (disk.isFlash ? 0.6 : 1)) / (1 - busy)
  return {
    readIops,
    writeIops: iops - readIops,
    readSizeKb: Math.round(clamp(profile.readSizeKb * (0.7 + 0.6 * draw(2)), 4, 256)),
    writeSizeKb: Math.round(clamp(profile.writeSizeKb * (0.7 + 0.6 * draw(3)), 4, 256)),
    readMicros: Math.round((300 + 900 * draw(4)) * wait),
    writeMicros: Math.round((400 + 1200 * draw(5)) * wait),
    randomPpm: Math.round(1e6 * clamp(profile.random + 0.1 * (draw(6) - 0.5), 0, 1)),
  }
}

const clamp = (value: number, least: number, most: number): number => Math.min(most, Math.max(least, value))
