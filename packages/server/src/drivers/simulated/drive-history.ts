/** The past of a drive, for statistics. Source: behaviour clustermgmt.md 1.17, 3 (Statistics generator). */
import { type Drive, type Filling, shareAt } from '../drives.ts'
import type { DriveState } from '../telemetry.ts'

/** Milliseconds since 1970; without an end, it has not ended yet. */
export interface Period {
  readonly from: number
  readonly to?: number
}

export interface SlowPeriod extends Period {
  readonly factor: number
}

/** Each list has the oldest first. */
export interface DriveHistory {
  readonly fillings?: readonly Filling[]
  /** Outside the pool, or without work. Absent: a drive of the pool has always worked, any other one never. */
  readonly outages?: readonly Period[]
  readonly slowTimes?: readonly SlowPeriod[]
}

const rememberedTimes = 200
/** Statistics show 90 days, and bounds from the 7 days before. */
const rememberedMillis = 97 * 24 * 3600 * 1000

export function workNoted<F extends DriveHistory>(fact: F, works: boolean, now: number): F {
  const outages: readonly Period[] = fact.outages ?? (works ? [{ from: 0 }] : [])
  const last = outages.at(-1)
  if ((last !== undefined && last.to === undefined) !== works) return fact
  return { ...fact, outages: (works ? ended(outages, now) : [...outages, { from: now }]).slice(-rememberedTimes) }
}

/** @param factor 1 ends it */
export function slownessNoted(times: readonly SlowPeriod[], factor: number, now: number): readonly SlowPeriod[] {
  const before = ended(times, now)
  return (factor === 1 ? before : [...before, { from: now, factor }]).slice(-rememberedTimes)
}

/** Fillings that begin at the same time replace each other. */
export const withFilling = <F extends DriveHistory>(fact: F, filling: Filling): F => ({
  ...fact,
  fillings: [...(fact.fillings ?? []).filter(({ since }) => since < filling.since), filling].slice(-rememberedTimes),
})

/** No statistics show the drive any more. */
export const isForgotten = ({ outages = [] }: DriveHistory, now: number): boolean =>
  (outages.at(-1)?.from ?? 0) < now - rememberedMillis

/**
 * Over the 30 s before `time`, so that a change at that time does not count. Undefined: the drive did not work.
 * @param slowdownOfHost factor
 */
export function stateAt(
  extId: string,
  fact: DriveHistory & Pick<Drive, 'sizeBytes' | 'tier'> & { readonly isInPool?: boolean },
  time: number,
  slowdownOfHost: number,
): DriveState | undefined {
  const { sizeBytes, tier, isInPool, fillings = [], slowTimes = [], outages = isInPool ? [] : [{ from: 0 }] } = fact
  if (outages.some((period) => holds(period, time))) return undefined
  const begun = fillings.filter(({ since }) => since < time)
  const last = begun.at(-1)
  return {
    ...{ extId, sizeBytes, tier },
    slowdown: slowdownOfHost * (slowTimes.find((period) => holds(period, time))?.factor ?? 1),
    share: last === undefined ? (fillings[0]?.from ?? 1) : shareAt({ fillings: begun }, time),
    isLeaving: last !== undefined && last.to < last.from,
  }
}

/** Times after which a state can differ. */
export const changesOf = ({ fillings = [], outages = [], slowTimes = [] }: DriveHistory): number[] => [
  ...[...outages, ...slowTimes].flatMap(({ from, to = Number.POSITIVE_INFINITY }) => [from, to]),
  ...fillings.flatMap(({ since, until }) => [since, until]),
]

export const isFilling = ({ fillings = [] }: DriveHistory, time: number): boolean =>
  fillings.some(({ since, until }) => since < time && time < until)

export const holds = ({ from, to = Number.POSITIVE_INFINITY }: Period, time: number): boolean =>
  from < time && time <= to

const ended = <P extends Period>(times: readonly P[], now: number): readonly P[] =>
  times.map((time) => (time.to === undefined ? { ...time, to: now } : time))
