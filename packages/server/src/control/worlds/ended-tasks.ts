/** Waits until no task is under way, or a timeout on the world clock (real time while frozen); at most a minute of real time. */
import { Task } from '@hyperplane/contract/platform/task'
import { pathOf } from '../../core/standard.ts'
import { unfinished } from '../../core/tasks/runner.ts'
import type { Clock, WorldClock } from '../../core/time/clock.ts'
import { anyOf } from '../../odata/index.ts'
import type { Store } from '../../store/store.ts'
import { longestWaitMilliseconds } from '../journal/reading/assertion.ts'

export interface TaskWait {
  readonly store: Pick<Store, 'count' | 'watch'>
  readonly clock: Pick<WorldClock, 'now' | 'mode'>
  readonly real: Pick<Clock, 'now' | 'setTimer'>
  readonly isOver: () => boolean
}

/** Real time: a timer of the world clock would itself be an event of the world. */
const pollMilliseconds = 20

export async function waitForTasks({ store, clock, real, isOver }: TaskWait, withinMilliseconds: number) {
  const filter = anyOf(pathOf(Task, 'status'), unfinished)
  const deadline = clock.now() + withinMilliseconds
  const patience = clock.mode === 'frozen' ? withinMilliseconds : longestWaitMilliseconds
  const endOfPatience = real.now() + Math.min(patience, longestWaitMilliseconds)
  while (
    !isOver() &&
    clock.now() < deadline &&
    real.now() < endOfPatience &&
    (await store.count(Task, { filter })) > 0
  ) {
    await new Promise<void>((resolve) => {
      const stopWatching = store.watch([Task], resume)
      const stopTimer = real.setTimer(pollMilliseconds, resume)
      function resume(): void {
        stopWatching()
        stopTimer()
        resolve()
      }
    })
  }
}
