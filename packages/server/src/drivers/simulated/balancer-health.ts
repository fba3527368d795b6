/** Health of the targets of a balancer over time. Source: networking.md 1.14. */
import { defined } from '../../core/defined.ts'
import type { BalancerProgram, BalancerTarget, HealthCheck } from '../load-balancing.ts'

export interface Period {
  readonly from: number
  readonly to?: number
}

/** One target, from its addition to the balancer to its removal. */
interface TargetHistory extends BalancerTarget {
  readonly since: number
  readonly until?: number
  /** First time at which its guest can be reached, as last observed: in the future while the guest boots. Absent: it cannot. */
  readonly reachable?: number
  /** The last time at which it stopped answering, or its addition. */
  readonly silentSince: number
  /** When it answers again after `silentSince`. */
  readonly answersFrom?: number
  /** When the present checks began: they judge earlier observations, but change no period before this time. */
  readonly judgedFrom?: number
  /** Oldest first, as far as they were known at the last observation. */
  readonly healthy: readonly Period[]
}

export interface BalancerHealth {
  readonly check?: HealthCheck
  readonly targets: readonly TargetHistory[]
}

/** As long as statistics go back. */
const keptMillis = 90 * 24 * 3600 * 1000
const keptPeriods = 500
const keptFormerTargets = 500

export const isSameTarget = (a: BalancerTarget, b: BalancerTarget): boolean =>
  a.nicExtId === b.nicExtId && a.port === b.port

/** The periods of health of a target up to `now`; the last one may be open. */
export function healthyPeriods(target: TargetHistory, check: HealthCheck | undefined, now: number): readonly Period[] {
  const { until, since, silentSince, answersFrom, judgedFrom = 0, healthy } = target
  if (until !== undefined || check === undefined) return healthy
  const millis = 1000 * check.intervalSeconds
  const open = isOpen(healthy)
  const wasHealthyBefore = open && healthy.at(-1)!.from <= silentSince
  const failsAt = Math.max(silentSince + check.failureThreshold * millis, judgedFrom)
  const hasFailed = wasHealthyBefore && failsAt <= Math.min(now, answersFrom ?? Number.POSITIVE_INFINITY)
  const periods = hasFailed ? closed(healthy, failsAt) : healthy
  if ((open && !hasFailed) || answersFrom === undefined) return periods
  const succeedsAt = Math.max(Math.max(answersFrom, since) + check.successThreshold * millis, judgedFrom)
  return succeedsAt <= now ? [...periods, { from: succeedsAt }] : periods
}

export const isOpen = (periods: readonly Period[]): boolean => periods.length > 0 && periods.at(-1)?.to === undefined

/** A period that began later than `to` is left out. */
function closed(periods: readonly Period[], to: number): readonly Period[] {
  const last = periods.at(-1)
  if (last === undefined || last.to !== undefined) return periods
  return last.from < to ? [...periods.slice(0, -1), { from: last.from, to }] : periods.slice(0, -1)
}

/** The same object if nothing changed. @param reachableSince for each target of the program: see `TargetHistory.reachable` */
export function observed(
  before: BalancerHealth,
  program: Pick<BalancerProgram, 'targets'> & { readonly check?: HealthCheck },
  now: number,
  reachableSince: (target: BalancerTarget) => number | undefined,
): BalancerHealth {
  const added = new Map(program.targets.map((target) => [keyOf(target), target]))
  const settled = (target: TargetHistory): readonly Period[] => recent(healthyPeriods(target, before.check, now), now)
  const histories = before.targets.map((target): TargetHistory => {
    if (target.until !== undefined) return target
    if (!added.delete(keyOf(target))) return { ...target, healthy: closed(settled(target), now), until: now }
    const reachable = reachableSince(target)
    return reachable === target.reachable ? target : changed({ ...target, healthy: settled(target) }, reachable, now)
  })
  const isCheckSame = JSON.stringify(before.check) === JSON.stringify(program.check)
  if (isCheckSame && added.size === 0 && histories.every((target, index) => target === before.targets[index]))
    return before
  const targets = isCheckSame
    ? histories
    : histories.map((target) => rejudged({ ...target, healthy: healthyPeriods(target, before.check, now) }, now))
  return defined({
    check: program.check,
    targets: [
      ...withoutOldest(targets, now),
      ...[...added.values()].map((target) => firstSeen(target, reachableSince(target), now)),
    ],
  })
}

function withoutOldest(targets: readonly TargetHistory[], now: number): readonly TargetHistory[] {
  const former = targets.filter(({ until }) => until !== undefined && until > now - keptMillis)
  const kept = new Set(former.slice(-keptFormerTargets))
  return targets.filter((target) => target.until === undefined || kept.has(target))
}

const rejudged = (target: TargetHistory, now: number): TargetHistory =>
  target.until === undefined ? { ...target, judgedFrom: now } : target

const keyOf = ({ nicExtId, port }: BalancerTarget): string => `${nicExtId} ${port}`

const firstSeen = (target: BalancerTarget, reachable: number | undefined, now: number): TargetHistory =>
  defined({ ...target, since: now, silentSince: now, reachable, answersFrom: reachable, healthy: [] })

function changed(target: TargetHistory, reachable: number | undefined, now: number): TargetHistory {
  const { answersFrom, reachable: _, ...rest } = target
  const wasAnswering = answersFrom !== undefined && answersFrom <= now
  return defined({
    ...rest,
    silentSince: wasAnswering ? now : target.silentSince,
    reachable,
    // The guest may have been up all the time while something else was in the way.
    answersFrom: reachable === undefined ? undefined : Math.max(reachable, now),
  })
}

const recent = (periods: readonly Period[], now: number): readonly Period[] =>
  periods.filter(({ to = now }) => to > now - keptMillis).slice(-keptPeriods)
