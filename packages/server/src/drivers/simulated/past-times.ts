/** Times in which hosts and drives were down or slow, for statistics of the past. Source: behaviour clustermgmt.md 1.17. */
import type { Collection, SimulatedWorld } from './world.ts'

/** Milliseconds since 1970; without `to` it lasts. */
interface Period {
  readonly from: number
  readonly to?: number
}

/** Oldest first. */
export interface DowntimeFact {
  readonly times: readonly Period[]
}

/** Oldest first. */
interface SlownessFact {
  readonly times: readonly (Period & { readonly factor: number })[]
}

/** By host. */
export const downtimeFacts = (world: SimulatedWorld): Collection<DowntimeFact> => world.collection('hardware.downtimes')
/** By host. */
export const slownessFacts = (world: SimulatedWorld): Collection<SlownessFact> => world.collection('hardware.slowness')
/** By drive: times outside the pool, or without work; a drive without a fact has always worked. */
export const driveDowntimes = (world: SimulatedWorld): Collection<DowntimeFact> =>
  world.collection('hardware.drive-downtimes')
/** By drive. */
export const driveSlowness = (world: SimulatedWorld): Collection<SlownessFact> =>
  world.collection('hardware.drive-slowness')

const rememberedTimes = 200

const holds = ({ from, to = Number.POSITIVE_INFINITY }: Period, time: number): boolean => from < time && time <= to

export const wasDown = (fact: DowntimeFact | undefined, time: number): boolean =>
  fact?.times.some((period) => holds(period, time)) === true

export const slowdownIn = (fact: SlownessFact | undefined, time: number): number =>
  fact?.times.find((period) => holds(period, time))?.factor ?? 1

/** @param factor 1 ends the slowness */
export async function noteSlowness(
  facts: Collection<SlownessFact>,
  extId: string,
  factor: number,
  now: number,
): Promise<void> {
  const times: SlownessFact['times'] = facts.get(extId)?.times ?? []
  const ended = times.map((time) => ({ ...time, to: time.to ?? now }))
  const next = factor === 1 ? ended : [...ended, { from: now, factor }]
  await facts.put(extId, { times: next.slice(-rememberedTimes) })
}

/** Does nothing where this is noted already. */
export async function noteDowntime(
  facts: Collection<DowntimeFact>,
  extId: string,
  isDown: boolean,
  now: number,
  timesBefore: DowntimeFact['times'] = [],
): Promise<void> {
  const times = facts.get(extId)?.times ?? timesBefore
  const last = times.at(-1)
  if (isDown === (last !== undefined && last.to === undefined)) return
  const next = isDown ? [...times, { from: now }] : times.map((time) => ({ ...time, to: time.to ?? now }))
  await facts.put(extId, { times: next.slice(-rememberedTimes) })
}

/** In the same tick as the change of the drive. A new drive did not work before. */
export const noteDriveWork = (world: SimulatedWorld, driveExtId: string, works: boolean): Promise<void> =>
  noteDowntime(driveDowntimes(world), driveExtId, !works, world.clock.now(), works ? [{ from: 0 }] : [])
