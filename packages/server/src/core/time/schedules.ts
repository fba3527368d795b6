/** Work that the service starts itself, on the world's clock: monitors, retention, expiry. */

import type { Store, Transaction } from '../../store/store.ts'
import { systemCaller } from '../caller.ts'
import type { Tasks } from '../ports.ts'
import type { StartTask, TaskStarter } from '../tasks/define-task.ts'
import type { World } from '../world.ts'
import type { WorldClock } from './clock.ts'

export interface ScheduleContext<D> extends World<D> {
  readonly store: Store
  readonly runner: TaskStarter & Pick<Tasks, 'queueLength'>
  /** Up to this world time nothing happens that others must see between them, see `WorldClock`. */
  readonly quietUntil: () => number
}

export interface Schedule<D> {
  readonly name: string
  /** World seconds between the end of one run and the next. */
  readonly everySeconds: number
  /**
   * What it answers says when time alone is a reason for the next run: `again`, as soon as one is due; a number, not before
   * that world time, in milliseconds since 1970. Nothing: where it watches, none is.
   */
  readonly run: (ctx: ScheduleContext<D>) => Promise<void | 'again' | number>
  /**
   * Calls `changed` when something that a run looks at is no longer as it was; the answer ends that. A run that would find
   * all as the last one left it does not take place: months that are skipped cost nothing. Absent: each run takes place
   * unless `run` names a later time.
   */
  readonly watch?: (ctx: ScheduleContext<D>, changed: () => void) => () => void
  /**
   * What a run leaves follows from the world at its time, not from the runs before it: monitors, retention. Where the clock
   * is moved by hand, only the last of those takes place that have no event between them: nobody could tell the difference.
   */
  readonly onlyLastCounts?: true
}

/** A transaction of scheduled work. The tasks that it starts are the system's own, and run after its commit. */
export async function startingTasks<D>(
  ctx: ScheduleContext<D>,
  work: (store: Transaction, startTask: StartTask) => Promise<void>,
): Promise<void> {
  const after: (() => void)[] = []
  const owner = systemCaller(ctx.tenantId)
  const afterCommit = (run: () => void): void => void after.push(run)
  await ctx.store.transaction((store) => work(store, ctx.runner.starter(store, owner, afterCommit, false, ctx.ids)))
  for (const run of after) run()
}

/** Times are sums of microseconds: their quotients miss whole numbers by less than this. */
const rounding = 1e-6

type Log = { error(details: object, message: string): void }

/** Starts them all; the answer stops them. A run that fails is logged, and the next one comes all the same. */
export function startSchedules<D>(
  schedules: readonly Schedule<D>[],
  world: Omit<ScheduleContext<D>, 'quietUntil'>,
  clock: WorldClock,
  log: Log,
): () => void {
  const ctx = { ...world, quietUntil: () => clock.quietUntil() }
  const stops = schedules.map((schedule) => start(schedule, ctx, clock, log))
  return () => {
    for (const stop of stops) stop()
  }
}

function start<D>(schedule: Schedule<D>, ctx: ScheduleContext<D>, clock: WorldClock, log: Log): () => void {
  const period = schedule.everySeconds * 1000
  /** From when on a run is due every period. */
  let from = clock.now()
  let planned = Number.POSITIVE_INFINITY
  let isChanged = false
  let isRunning = false
  let isStopped = false
  let cancel = (): void => undefined

  const periodsUntil = (time: number): number => Math.floor((time - from) / period + rounding)

  /** The next time at which a run is due, and not before `earliest`. What changes in between is not seen before. */
  const plan = (earliest = 0): void => {
    const now = clock.now()
    const due = from + period * Math.max(periodsUntil(now) + 1, Math.ceil((earliest - from) / period - rounding))
    if (isStopped || due >= planned) return
    cancel()
    planned = due
    cancel = clock.setTimer(due - now, onDue, schedule.onlyLastCounts && 'derived', `schedule ${schedule.name}`)
  }

  const onDue = (): void => {
    planned = Number.POSITIVE_INFINITY
    const last = from + period * periodsUntil(clock.quietUntil())
    if (schedule.onlyLastCounts === true && last > clock.now()) plan(last)
    else void clock.track(run)
  }

  const run = async (): Promise<void> => {
    // What changes from now on, the run may miss.
    isChanged = false
    isRunning = true
    let next: void | 'again' | number = 'again'
    try {
      next =
        (await schedule.run({ ...ctx, ids: ctx.ids.of(`schedule ${schedule.name} ${clock.iso()}`) })) ??
        (schedule.watch === undefined ? 'again' : undefined)
    } catch (error) {
      // What the end of the service cut short comes again after the next start.
      if (!isStopped) log.error({ err: error, schedule: schedule.name }, 'scheduled work failed')
    }
    from = clock.now()
    isRunning = false
    if (isChanged || next === 'again') plan()
    else if (next !== undefined) plan(next)
  }

  const unwatch = schedule.watch?.(ctx, () => {
    isChanged = true
    if (!isRunning) plan()
  })
  plan()
  return () => {
    isStopped = true
    cancel()
    unwatch?.()
  }
}
