/** The past of a drive, for statistics. Source: behaviour clustermgmt.md 1.17, 3 (Statistics generator). */
import { type Drive, type Filling, shareAt } from '../drives.ts'
import type { DriveState } from '../telemetry.ts'
import { type Period, rememberedTimes, type SlowPeriod, slowdownIn, wasDown, withDowntime } from './past-times.ts'

export interface DriveHistory {
  readonly fillings?: readonly Filling[]
  /** Outside the pool, or without work. Absent: a drive of the pool has always worked, any other one never. */
  readonly outages?: readonly Period[]
  readonly slowTimes?: readonly SlowPeriod[]
}

/** Statistics show 90 days, and bounds from the 7 days before. */
const rememberedMillis = 97 * 24 * 3600 * 1000

export function workNoted<F extends DriveHistory>(fact: F, works: boolean, now: number): F {
  const outages = fact.outages ?? (works ? [{ from: 0 }] : [])
  const next = withDowntime(outages, !works, now)
  return next === outages ? fact : { ...fact, outages: next }
}

/** Replaces an open one that begins at the same time. */
export function withFilling<F extends DriveHistory>(fact: F, filling: Filling): F {
  const { since } = filling
  const before = (fact.fillings ?? []).filter((other) => other.since < since || other.until <= since)
  return { ...fact, fillings: [...before, filling].slice(-rememberedTimes) }
}

/** The drive keeps its data. An evacuation that moved nothing leaves no trace. */
export function staying<F extends DriveHistory>(fact: F, now: number): F {
  const share = shareAt(fact, now)
  const fillings = fillingsBefore(fact, now)
  const last = fillings.at(-1)
  const wasLeaving = last !== undefined && empties(last)
  if (!wasLeaving && share === shareAt({ fillings }, now)) return withFillings(fact, fillings)
  return withFilling(fact, { from: share, to: share, since: now, until: now })
}

/** A drive that was in the pool for no time has no history of it. */
export function unpooled<F extends DriveHistory>(fact: F, now: number): F {
  const last = fact.fillings?.at(-1)
  const isNew = last?.since === now && !empties(last)
  const left = isNew ? withFillings(fact, fact.fillings?.slice(0, -1)) : fact
  const { outages = [], ...rest } = workNoted(left, false, now)
  return (outages[0]?.from === 0 && outages.length === 1 ? rest : { ...rest, outages }) as F
}

const fillingsBefore = ({ fillings = [] }: DriveHistory, time: number): readonly Filling[] =>
  fillings.filter(({ since }) => since < time)

function withFillings<F extends DriveHistory>({ fillings: _, ...fact }: F, fillings: readonly Filling[] = []): F {
  return (fillings.length === 0 ? fact : { ...fact, fillings }) as F
}

const empties = ({ from, to }: Filling): boolean => to < from

/** No statistics show the drive any more. */
export const isForgotten = ({ outages = [] }: DriveHistory, now: number): boolean =>
  (outages.at(-1)?.from ?? 0) < now - rememberedMillis

/** Over the 30 s before `time`: a change at `time` does not count. Undefined: the drive did not work. @param slowdownOfHost factor */
export function stateAt(
  extId: string,
  fact: DriveHistory & Pick<Drive, 'sizeBytes' | 'tier'> & { readonly isInPool?: boolean },
  time: number,
  slowdownOfHost: number,
): DriveState | undefined {
  const { sizeBytes, tier, isInPool, fillings = [], slowTimes = [], outages = isInPool ? [] : [{ from: 0 }] } = fact
  if (wasDown({ times: outages }, time)) return undefined
  const started = fillingsBefore(fact, time)
  const last = started.at(-1)
  return {
    ...{ extId, sizeBytes, tier },
    slowdown: slowdownOfHost * slowdownIn({ times: slowTimes }, time),
    share: last === undefined ? (fillings[0]?.from ?? 1) : shareAt({ fillings: started }, time),
    isLeaving: last !== undefined && empties(last),
  }
}

/** Times after which a state can differ. */
export const changesOf = ({ fillings = [], outages = [], slowTimes = [] }: DriveHistory): number[] => [
  ...[...outages, ...slowTimes].flatMap(({ from, to = Number.POSITIVE_INFINITY }) => [from, to]),
  ...fillings.flatMap(({ since, until }) => [since, until]),
]

export const isFilling = ({ fillings = [] }: DriveHistory, time: number): boolean =>
  fillings.some(({ since, until }) => since < time && time < until)
