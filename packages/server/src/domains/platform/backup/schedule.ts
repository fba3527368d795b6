/**
 * When backups run: on the world's clock, each time the interval of a target is over. One run at a time a target; one that
 * takes longer than the interval takes the place of the next. Source: behaviour platform.md 7 (schedule); decision
 * backups-while-time-is-moved.
 */
import { BackupTarget } from '@hyperplane/contract/platform/backup-target'
import { parseTime } from '../../../core/time/clock.ts'
import { type Schedule, startingTasks } from '../../../core/time/schedules.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import { isDue, startIfDue } from './run-task.ts'
import { minutesBetween, type Target } from './target-rules.ts'

export const backupSchedule: Schedule<Drivers> = {
  name: 'platform.backups',
  everySeconds: 60,
  watch: ({ store }, changed) => store.watch([BackupTarget], changed),
  async run(ctx) {
    const now = ctx.clock.now()
    const targets = await ctx.store.find(BackupTarget)
    const quiet = Math.min(ctx.quietUntil(), ...targets.filter(runsAgain).map((target) => nextOf(target, now)))
    const due = targets.filter((target) => isDue(target, now))
    const postponed = due.filter((target) => lastSlot(target, now, quiet) > now)
    for (const { extId } of due.filter((target) => !postponed.includes(target)))
      await startingTasks(ctx, (store, startTask) => startIfDue({ ...ctx, store, startTask }, extId))
    // What is due only when its present run has ended is written again then, and is seen by that.
    const times = targets.flatMap(({ nextRunTime }) => parseTime(nextRunTime ?? '') ?? [])
    return Math.min(...times.filter((time) => time > now), ...postponed.map((target) => lastSlot(target, now, quiet)))
  },
}

/** Restore points stay, each as of its time: a bucket. On a cluster the newest one replaces the others. */
const keepsAll = ({ location }: Target): boolean => !('config' in location)
const runsAgain = (target: Target): boolean => keepsAll(target) && target.isHeld !== true

/** When this target would run again, had it run by now. */
function nextOf({ location, nextRunTime }: Target, now: number): number {
  const next = parseTime(nextRunTime ?? '') ?? now
  return next > now ? next : now + minutesBetween(location) * minute
}

/**
 * The last time at which a target on a cluster is due before anything else happens. The runs before it would each be replaced
 * by the next, and hold what that holds: where time is moved by hand, it alone takes place.
 */
function lastSlot(target: Target, now: number, quiet: number): number {
  if (keepsAll(target)) return now
  const interval = minutesBetween(target.location) * minute
  return now + Math.max(0, Math.floor((quiet - now) / interval + rounding)) * interval
}
const minute = 60_000
/** Times are sums of microseconds. */
const rounding = 1e-6
