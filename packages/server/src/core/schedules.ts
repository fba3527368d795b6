/** Work that the service starts itself, on the world's clock: monitors, retention, expiry. */

import type { Store } from '../store/store.ts'
import type { WorldClock } from './clock.ts'
import type { World } from './context.ts'
import type { TaskRunner } from './tasks/runner.ts'

export interface ScheduleContext<D> extends World<D> {
  readonly store: Store
  readonly runner: TaskRunner<D>
}

export interface Schedule<D> {
  readonly name: string
  /** World seconds between the end of one run and the next. */
  readonly everySeconds: number
  readonly run: (ctx: ScheduleContext<D>) => Promise<void>
}

/** Starts them all; the answer stops them. A run that fails is logged, and the next one comes all the same. */
export function startSchedules<D>(
  schedules: readonly Schedule<D>[],
  ctx: ScheduleContext<D>,
  clock: WorldClock,
  log: { error(details: object, message: string): void },
): () => void {
  const cancels = new Map<string, () => void>()
  let stopped = false
  const plan = (schedule: Schedule<D>): void => {
    if (stopped) return
    cancels.set(
      schedule.name,
      clock.setTimer(schedule.everySeconds * 1000, () => {
        void schedule
          .run(ctx)
          .catch((error) => {
            // What the end of the service cut short comes again after the next start.
            if (!stopped) log.error({ err: error, schedule: schedule.name }, 'scheduled work failed')
          })
          .finally(() => plan(schedule))
      }),
    )
  }
  for (const schedule of schedules) plan(schedule)
  return () => {
    stopped = true
    for (const cancel of cancels.values()) cancel()
  }
}
