/** States of drives at times of the past, for statistics. Source: behaviour clustermgmt.md 3 (Statistics generator). */
import { shareAt } from '../drives.ts'
import type { DriveState } from '../telemetry.ts'
import { driveDowntimes, driveSlownessFacts } from './drive-downtimes.ts'
import { drivesIn } from './drives.ts'
import type { SimulatedWorld } from './world.ts'

export function driveStates(
  world: SimulatedWorld,
  hostExtId: string,
  time: number,
  slowdownOfHost: number,
): readonly DriveState[] {
  return drivesIn(world, hostExtId).flatMap((drive): DriveState[] => {
    const { extId, tier, sizeBytes, isInPool } = drive
    const times = driveDowntimes(world).get(extId)?.times ?? (isInPool ? [] : [{ from: 0 }])
    if (times.some((down) => within(down, time))) return []
    const factor = driveSlownessFacts(world)
      .get(extId)
      ?.times.find((slow) => within(slow, time))?.factor
    return [{ extId, tier, sizeBytes, slowdown: slowdownOfHost * (factor ?? 1), share: shareAt(drive, time) }]
  })
}

const within = (
  { from, to = Number.POSITIVE_INFINITY }: { readonly from: number; readonly to?: number },
  time: number,
): boolean => from < time && time <= to
