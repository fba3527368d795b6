/** Times in which drives did not work in a pool, or were slow, for statistics of the past. Source: behaviour clustermgmt.md 1.17. */
import type { Collection, SimulatedWorld } from './world.ts'

/** Oldest first; milliseconds since 1970. */
export interface DriveDowntimeFact {
  readonly times: readonly { readonly from: number; readonly to?: number }[]
}

export interface DriveSlownessFact {
  readonly times: readonly { readonly from: number; readonly to?: number; readonly factor: number }[]
}

/** By drive: times outside the pool, or without work; a drive without a fact has always worked. */
export const driveDowntimes = (world: SimulatedWorld): Collection<DriveDowntimeFact> =>
  world.collection('hardware.drive-downtimes')

/** By drive. */
export const driveSlownessFacts = (world: SimulatedWorld): Collection<DriveSlownessFact> =>
  world.collection('hardware.drive-slowness')

const rememberedTimes = 200

/** In the same tick as the change of the drive. A new drive did not work before. */
export async function noteDriveWork(world: SimulatedWorld, driveExtId: string, works: boolean): Promise<void> {
  const facts = driveDowntimes(world)
  const now = world.clock.now()
  const { times } = facts.get(driveExtId) ?? { times: works ? [{ from: 0 }] : [] }
  const isDown = times.at(-1) !== undefined && times.at(-1)?.to === undefined
  if (isDown !== works) return
  const next = works ? times.map((time) => ({ ...time, to: time.to ?? now })) : [...times, { from: now }]
  await facts.put(driveExtId, { times: next.slice(-rememberedTimes) })
}
