/** Times in which hosts and drives were down or slow, for statistics of the past. Source: behaviour clustermgmt.md 1.17. */
import type { Collection, SimulatedWorld } from './world.ts'

export interface Period {
  readonly from: number
  readonly to?: number
}

export interface SlowPeriod extends Period {
  readonly factor: number
}

export interface DowntimeFact {
  readonly times: readonly Period[]
}

interface SlownessFact {
  readonly times: readonly SlowPeriod[]
}

export const downtimeFacts = (world: SimulatedWorld) => world.collection<DowntimeFact>('hardware.downtimes')
export const slownessFacts = (world: SimulatedWorld) => world.collection<SlownessFact>('hardware.slowness')

export const rememberedTimes = 200

const holds = ({ from, to = Number.POSITIVE_INFINITY }: Period, time: number): boolean => from < time && time <= to

export const wasDown = (fact: DowntimeFact | undefined, time: number): boolean =>
  fact?.times.some((period) => holds(period, time)) === true

export const slowdownIn = (fact: SlownessFact | undefined, time: number): number =>
  fact?.times.find((period) => holds(period, time))?.factor ?? 1

/** @param factor 1 ends the slowness */
export function withSlowness(times: readonly SlowPeriod[], factor: number, now: number): readonly SlowPeriod[] {
  const before = ended(times, now)
  return (factor === 1 ? before : [...before, { from: now, factor }]).slice(-rememberedTimes)
}

/** The same array if nothing changes; uptime without length is dropped. */
export function withDowntime(times: readonly Period[], isDown: boolean, now: number): readonly Period[] {
  const last = times.at(-1)
  if (isDown === (last !== undefined && last.to === undefined)) return times
  if (!isDown) return ended(times, now)
  const next = last?.to === now ? [...times.slice(0, -1), { from: last.from }] : [...times, { from: now }]
  return next.slice(-rememberedTimes)
}

const ended = <P extends Period>(times: readonly P[], now: number): readonly P[] =>
  times.flatMap((time): P | [] => {
    if (time.to !== undefined) return time
    return time.from < now ? { ...time, to: now } : []
  })

/** @param factor 1 ends the slowness */
export const noteSlowness = (world: SimulatedWorld, hostExtId: string, factor: number): Promise<void> =>
  noted(slownessFacts(world), hostExtId, (times) => withSlowness(times, factor, world.clock.now()))

export const noteDowntime = (world: SimulatedWorld, hostExtId: string, isDown: boolean): Promise<void> =>
  noted(downtimeFacts(world), hostExtId, (times) => withDowntime(times, isDown, world.clock.now()))

async function noted<P>(
  facts: Collection<{ readonly times: readonly P[] }>,
  hostExtId: string,
  change: (times: readonly P[]) => readonly P[],
): Promise<void> {
  const times = facts.get(hostExtId)?.times ?? []
  const next = change(times)
  if (next !== times) await facts.put(hostExtId, { times: next })
}
