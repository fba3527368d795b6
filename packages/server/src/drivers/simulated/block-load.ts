/** I/O of volume disks as a pure function of the world's seed, their users and the time. Source: volumes-storage.md 3 (Demand). */
import type { BlockDiskRef, ServedReading, Telemetry } from '../telemetry.ts'
import { beginningOf, type ObservedUse, useHistory } from './block-use.ts'
import { diskReading } from './disk-load.ts'
import { type History, holdsAt, periodAt } from './flows/history.ts'
import { guestKey, loadAt, type Profile, profileOf } from './guest-load.ts'
import { memberSince } from './nodes.ts'
import { keyOf } from './noise.ts'
import { type DowntimeFact, downtimeFacts, wasDown } from './past-times.ts'
import type { SimulatedWorld } from './world.ts'

const profiles = {
  database: { iops: 6000, readShare: 0.6, readSizeKb: 8, writeSizeKb: 16, random: 0.9 },
  backup: { iops: 800, readShare: 0.05, readSizeKb: 128, writeSizeKb: 256, random: 0.05 },
  claim: { iops: 60, readShare: 0.6, readSizeKb: 16, writeSizeKb: 16, random: 0.7 },
} as const

type IoProfile = Pick<Profile, 'iops' | 'readShare' | 'readSizeKb' | 'writeSizeKb' | 'random'>

interface Consumer {
  readonly extId: string
  readonly key: number
  readonly profile: IoProfile
  readonly load: number
  /** Undefined: every host that is up may serve it. */
  readonly hostExtId?: string
}

/** @param slowdownAt of the drives of a host */
export function createBlockReadings(
  world: SimulatedWorld,
  slowdownAt: (hostExtId: string, time: number) => number,
): Telemetry['readBlockDisk'] {
  const { uses, maintenance } = useHistory(world)
  const downtimes = downtimeFacts(world)
  return async (disk, hostExtIds, times) => {
    const history = uses.get(disk.volumeGroupExtId)
    if (history === undefined) return times.map(() => [])
    const hosts = hostExtIds.toSorted().map((extId) => ({
      extId,
      since: memberSince(world, extId),
      down: downtimes.get(extId),
      maintenance: maintenance.get(extId),
    }))
    return times.map((time) => {
      const use = periodAt(history, time)?.value
      if (use === undefined || beginningOf(use) >= time) return []
      const serving = hosts.filter((host) => serves(host, time)).map(({ extId }) => extId)
      return consumersOf(world, use, time).flatMap((consumer): ServedReading | [] => {
        const hostExtId = consumer.hostExtId ?? hostFor(use, disk, consumer, serving)
        if (hostExtId === undefined) return []
        const { profile, load, key } = consumer
        // The first disk of a group has the most load.
        const part = 1 / (1 + disk.index)
        const circumstances = { second: time / 1000, load, part, hostExtId, slowdown: slowdownAt(hostExtId, time) }
        return { hostExtId, reading: diskReading(disk, 0, key ^ keyOf(disk.extId), profile, circumstances) }
      })
    })
  }
}

interface ServingHost {
  readonly extId: string
  /** When it joined the cluster. */
  readonly since: number
  readonly down?: DowntimeFact | undefined
  readonly maintenance?: History<true> | undefined
}

const serves = ({ since, down, maintenance }: ServingHost, time: number): boolean =>
  since < time && !wasDown(down, time) && maintenance?.periods.some((period) => holdsAt(period, time)) !== true

function consumersOf(world: SimulatedWorld, use: ObservedUse, time: number): readonly Consumer[] {
  const vms = use.vms.flatMap(({ vmExtId, name, hostExtId, from }): Consumer | [] => {
    if (from >= time) return []
    const key = guestKey(world.seed, vmExtId)
    const local = use.isSpread ? {} : { hostExtId }
    return { extId: vmExtId, key, profile: profileOf(name, key), load: loadAt(key, time / 1000), ...local }
  })
  const clients = use.clients.flatMap(({ clientExtId, from }): Consumer | [] => {
    if (from >= time) return []
    const key = keyOf(`${world.seed}/telemetry/client/${clientExtId}`)
    const load = use.isBackupTarget ? nightAt(time) : loadAt(key, time / 1000)
    return { extId: clientExtId, key, profile: profiles[classOf(use)], load }
  })
  return [...vms, ...clients]
}

const classOf = ({ isBackupTarget, name }: ObservedUse): keyof typeof profiles =>
  isBackupTarget ? 'backup' : name.startsWith('pvc-') ? 'claim' : 'database'

/** Backups run from 22:00 to 04:00, UTC. */
const nightAt = (time: number): number => {
  const hour = new Date(time).getUTCHours()
  return hour >= 22 || hour < 4 ? 1 : 0
}

/** Load balancing spreads the disks evenly. The redirector sends a client where it was sent before, if it can. */
function hostFor(
  { isSpread }: ObservedUse,
  { volumeGroupExtId, extId, index }: BlockDiskRef,
  consumer: Consumer,
  serving: readonly string[],
): string | undefined {
  if (isSpread) return serving[((keyOf(volumeGroupExtId) >>> 0) + index) % serving.length]
  const weight = (hostExtId: string): number => keyOf(`${consumer.extId}/${extId}/${hostExtId}`)
  return serving.toSorted((a, b) => weight(a) - weight(b))[0]
}
