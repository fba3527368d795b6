/** States of the drives of a host at times of the past. Source: behaviour clustermgmt.md 3 (Statistics generator). */
import type { DriveState } from '../telemetry.ts'
import { changesOf, isFilling, stateAt } from './drive-history.ts'
import { type DriveFact, driveFacts, drivesIn, formerDrives } from './drives.ts'
import { memberSince } from './nodes.ts'
import { downtimeFacts, slowdownIn, slownessFacts, wasDown } from './past-times.ts'
import type { SimulatedWorld } from './world.ts'

/** @param times milliseconds since 1970, ascending */
export function readDrives(
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

/** With former ones, by slot. */
function drivesOfHost(world: SimulatedWorld, hostExtId: string): readonly (readonly [string, DriveFact])[] {
  const present = drivesIn(world, hostExtId).map(({ extId }) => [extId, driveFacts(world).get(extId)] as const)
  const former = [...formerDrives(world).all()].filter(([, fact]) => fact.hostExtId === hostExtId)
  const all = new Map([...former, ...present] as readonly (readonly [string, DriveFact])[])
  return [...all].sort(([, a], [, b]) => a.slot - b.slot)
}
