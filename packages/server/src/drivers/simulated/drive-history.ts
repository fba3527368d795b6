/** States of drives at times of the past, for statistics. Source: behaviour clustermgmt.md 3 (Statistics generator). */
import { shareAt } from '../drives.ts'
import type { DriveState } from '../telemetry.ts'
import { drivesIn } from './drives.ts'
import { driveDowntimes, driveSlowness, slowdownIn, wasDown } from './past-times.ts'
import type { SimulatedWorld } from './world.ts'

export function driveStates(
  world: SimulatedWorld,
  hostExtId: string,
  time: number,
  slowdownOfHost: number,
): readonly DriveState[] {
  return drivesIn(world, hostExtId).flatMap((drive): DriveState[] => {
    const { extId, tier, sizeBytes, isInPool } = drive
    const downtimes = driveDowntimes(world).get(extId) ?? { times: isInPool ? [] : [{ from: 0 }] }
    if (wasDown(downtimes, time)) return []
    const slowdown = slowdownOfHost * slowdownIn(driveSlowness(world).get(extId), time)
    return [{ extId, tier, sizeBytes, slowdown, share: shareAt(drive, time) }]
  })
}
