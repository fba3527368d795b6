import type { Store, Transaction } from '../../store/store.ts'
import { systemCaller } from '../caller.ts'
import type { Tasks } from '../ports.ts'
import type { StartTask, TaskStarter } from '../tasks/define-task.ts'
import type { World } from '../world.ts'
import type { WorldClock } from './clock.ts'

/** One function that ends several watches. */
export const together =
  (...ends: readonly (() => void)[]) =>
  (): void => {
    for (const end of ends) end()
  }

export interface ScheduleContext<D> extends World<D> {
  readonly store: Store
  readonly runner: TaskStarter & Pick<Tasks, 'queueLength'>
  readonly quietUntil: () => number
}

export interface Schedule<D> {
  readonly name: string
  readonly everySeconds: number
  /** `again`: due after one period; a number: not before that world time; nothing: after one period, with `watch` only after a change. */
  readonly run: (ctx: ScheduleContext<D>) => Promise<void | 'again' | number>
  /** Calls `changed` when a dependency of a run changes; returns the end of the watch. Without changes there are no runs. */
  readonly watch?: (ctx: ScheduleContext<D>, changed: () => void) => () => void
  /** Runs do not depend on earlier runs: when the clock is moved by hand, only the last run before each event happens. */
  readonly onlyLastCounts?: true
}

/** Tasks of `work` belong to the system and start after the commit. */
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

/** For quotients of times, which are sums of microseconds. */
const rounding = 1e-6

type Log = { error(details: object, message: string): void }

/** Returns the function that stops them. A failed run is logged and does not stop its schedule. */
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
  let from = clock.now()
  let planned = Number.POSITIVE_INFINITY
  let isChanged = false
  let isRunning = false
  let isStopped = false
  let cancel = (): void => undefined

  const periodsUntil = (time: number): number => Math.floor((time - from) / period + rounding)

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
    isChanged = false
    isRunning = true
    let next: void | 'again' | number = 'again'
    try {
      next =
        (await schedule.run({ ...ctx, ids: ctx.ids.of(`schedule ${schedule.name} ${clock.iso()}`) })) ??
        (schedule.watch === undefined ? 'again' : undefined)
    } catch (error) {
      // A run that is cut short by shutdown is repeated after the next start.
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
