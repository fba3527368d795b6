/**
 * Waits until no task of a world is under way, or the time for that is over. As with assertions, time is the world's; where its
 * clock stands, as much real time ends the wait, and no call waits longer than a minute.
 */
import { Task } from '@hyperplane/contract/platform/task'
import { pathOf } from '../../core/standard.ts'
import { unfinished } from '../../core/tasks/runner.ts'
import type { Clock, WorldClock } from '../../core/time/clock.ts'
import { anyOf } from '../../odata/index.ts'
import type { Store } from '../../store/store.ts'
import { longestWaitMilliseconds } from '../journal/reading/assertion.ts'

export interface TaskWait {
  readonly store: Pick<Store, 'count' | 'watch'>
  /** The world's. */
  readonly clock: Pick<WorldClock, 'now' | 'mode'>
  readonly real: Pick<Clock, 'now' | 'setTimer'>
  /** It was closed meanwhile, or the process ends: nobody waits any longer. */
  readonly isOver: () => boolean
}

/** How often the world's time is looked at while no task changes. A timer there would be an event of the world. */
const pollMilliseconds = 20

export async function waitForTasks({ store, clock, real, isOver }: TaskWait, withinMilliseconds: number) {
  const filter = anyOf(pathOf(Task, 'status'), unfinished)
  const deadline = clock.now() + withinMilliseconds
  const patience = clock.mode === 'frozen' ? withinMilliseconds : longestWaitMilliseconds
  const giveUp = real.now() + Math.min(patience, longestWaitMilliseconds)
  while (!isOver() && clock.now() < deadline && real.now() < giveUp && (await store.count(Task, { filter })) > 0) {
    await new Promise<void>((resolve) => {
      const stop = store.watch([Task], go)
      const take = real.setTimer(pollMilliseconds, go)
      function go(): void {
        stop()
        take()
        resolve()
      }
    })
  }
}
