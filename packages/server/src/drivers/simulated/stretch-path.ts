/** When frames pass between the sites of a stretch. Source: networking.md 1.12. */
import { defined } from '../../core/defined.ts'
import type { Period } from './balancer-health.ts'

export interface Carrier {
  readonly extId: string
  /** Since when it works; in the future while it boots or negotiates. */
  readonly upFrom: number
  /** Known when its peer is silent, but not found dead yet. */
  readonly until?: number
}

export interface StretchPath {
  readonly carrier?: Carrier
  /** Beginning of the transport, possibly in the future. */
  readonly carriesFrom?: number
  /** The takeover ends at `carriesFrom`; FAILED: no gateway takes over. */
  readonly failover?: 'FAILED' | 'IN_PROGRESS'
  /** First reached then, possibly in the future; absent: the remote site does not answer. */
  readonly reachedFrom?: number
  /** Oldest first, as known at the last observation; the last may be open, and begin in the future. */
  readonly passing: readonly Period[]
}

export interface StretchSurroundings {
  /** In order of preference. */
  readonly carriers: readonly Carrier[]
  readonly isRemoteReachable: boolean
}

export interface StretchDelays {
  /** Until a tunnel between two working ends is up. */
  readonly establishMillis: number
  /** Until a working standby carries the frames. */
  readonly failoverMillis: number
}

/** As long as statistics go back. */
const keptMillis = 90 * 24 * 3600 * 1000
const keptPeriods = 500
const agingMillis = 300_000

/** The record after an observation at `now`; the same object if nothing changed. */
export function observedPath(
  before: StretchPath | undefined,
  { carriers, isRemoteReachable }: StretchSurroundings,
  { establishMillis, failoverMillis }: StretchDelays,
  now: number,
): StretchPath {
  const { carrier: current, reachedFrom: wasReachedFrom, passing } = before ?? { passing: [] }
  const alive = carriers.find(({ extId, upFrom }) => extId === current?.extId && upFrom === current.upFrom)
  const isSame = alive === undefined ? current === undefined && carriers.length === 0 : alive.until === current?.until
  const isReachabilitySame = isRemoteReachable === (wasReachedFrom !== undefined)
  if (before !== undefined && isReachabilitySame && isSame) return before
  const reachedFrom = isReachabilitySame
    ? wasReachedFrom
    : isRemoteReachable
      ? now + (before === undefined ? 0 : establishMillis)
      : undefined
  const { carrier, carriesFrom, failover } =
    alive === undefined
      ? chosen(before, carriers, { establishMillis, failoverMillis }, now)
      : { ...(before as StretchPath), carrier: alive }
  const from = carriesFrom === undefined || reachedFrom === undefined ? undefined : Math.max(carriesFrom, reachedFrom)
  return defined({ carrier, carriesFrom, failover, reachedFrom, passing: followed(passing, from, carrier?.until, now) })
}

/** @param from beginning of the present carrier's period @param until its end, if known */
function followed(
  passing: readonly Period[],
  from: number | undefined,
  until: number | undefined,
  now: number,
): readonly Period[] {
  const isGoingOn = from !== undefined && passing.at(-1)?.from === from
  const ended = recent(isGoingOn ? passing.slice(0, -1) : closed(passing, now), now)
  if (from === undefined || (until !== undefined && until <= from)) return ended
  return [...ended, { from, ...(until !== undefined && { to: until }) }]
}

/** The successor of a carrier that is gone. */
function chosen(
  before: StretchPath | undefined,
  carriers: readonly Carrier[],
  { establishMillis, failoverMillis }: StretchDelays,
  now: number,
): Pick<StretchPath, 'carrier' | 'carriesFrom' | 'failover'> {
  const hasFailed = before !== undefined && (before.carrier !== undefined || before.failover !== undefined)
  const standby = carriers.find(({ upFrom }) => upFrom + establishMillis <= now)
  if (hasFailed && standby !== undefined)
    return { carrier: standby, carriesFrom: now + failoverMillis, failover: 'IN_PROGRESS' }
  const failover = hasFailed ? ({ failover: 'FAILED' } as const) : {}
  const [first] = [...carriers].sort((a, b) => Math.max(a.upFrom, now) - Math.max(b.upFrom, now))
  if (first === undefined) return failover
  return { carrier: first, carriesFrom: Math.max(first.upFrom, now) + establishMillis, ...failover }
}

/** A period that would begin later than `at` is left out. */
function closed(passing: readonly Period[], at: number): readonly Period[] {
  const last = passing.at(-1)
  if (last === undefined || (last.to !== undefined && last.to <= at)) return passing
  return last.from < at ? [...passing.slice(0, -1), { from: last.from, to: at }] : passing.slice(0, -1)
}

const recent = (passing: readonly Period[], now: number): readonly Period[] =>
  passing.filter(({ to = now }) => to > now - keptMillis).slice(-keptPeriods)

export const isPassing = ({ passing }: StretchPath, now: number): boolean => {
  const last = passing.at(-1)
  return last !== undefined && last.from <= now && (last.to === undefined || now < last.to)
}

/** Whether a gateway still knows the addresses of guests that talk all the time. */
export const areAddressesKnown = ({ passing }: StretchPath, now: number): boolean =>
  passing.some(({ from, to = now }) => from <= now && now < to + agingMillis)

/** Share of the `millis` before `at` in which frames passed. */
export function passingShare({ passing }: StretchPath, at: number, millis: number): number {
  let sum = 0
  for (const { from, to = at } of passing) sum += Math.max(0, Math.min(to, at) - Math.max(from, at - millis))
  return sum / millis
}
