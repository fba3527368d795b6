/** On the world's clock, one run per target at a time. Source: behaviour platform.md 7 (schedule); decision backups-while-time-is-moved. */

import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import { parseTime } from '../../../core/time/clock.ts'
import { startingTasks } from '../../../core/time/schedules.ts'
import type { Schedule } from '../../context.ts'
import { isDue, startIfDue } from './run-task.ts'
import { minutesBetween, type Target } from './target-rules.ts'

export const backupSchedule: Schedule = {
  name: 'platform.backups',
  everySeconds: 60,
  watch: ({ store }, changed) => store.watch([BackupTarget], changed),
  async run(ctx) {
    const now = ctx.clock.now()
    const targets = await ctx.store.find(BackupTarget)
    const quiet = Math.min(ctx.quietUntil(), ...targets.filter(runsEverySlot).map((target) => nextOf(target, now)))
    const due = targets.filter((target) => isDue(target, now))
    const postponed = due.filter((target) => lastSlot(target, now, quiet) > now)
    for (const { extId } of due.filter((target) => !postponed.includes(target)))
      await startingTasks(ctx, (store, startTask) => startIfDue({ ...ctx, store, startTask }, extId))
    // A target that is due but still running needs no timer: the end of its run changes its row, which `watch` reports.
    const times = targets.flatMap(({ nextRunTime }) => parseTime(nextRunTime ?? '') ?? [])
    return Math.min(...times.filter((time) => time > now), ...postponed.map((target) => lastSlot(target, now, quiet)))
  },
}

/** A bucket keeps every restore point; on a cluster the newest one replaces the others. */
const keepsAll = ({ location }: Target): boolean => !('config' in location)
const runsEverySlot = (target: Target): boolean => keepsAll(target) && target.isHeld !== true

/** Assumes that a run that is due takes place now. */
function nextOf({ location, nextRunTime }: Target, now: number): number {
  const next = parseTime(nextRunTime ?? '') ?? now
  return next > now ? next : now + minutesBetween(location) * minute
}

/** While time is moved by hand, only the last run on a cluster takes place: each replaces the former one. */
function lastSlot(target: Target, now: number, quiet: number): number {
  if (keepsAll(target)) return now
  const interval = minutesBetween(target.location) * minute
  return now + Math.max(0, Math.floor((quiet - now) / interval + rounding)) * interval
}
const minute = 60_000
/** Times are floating-point sums, exact to about a microsecond. */
const rounding = 1e-6
