/**
 * While the clock of a world is frozen, a call begins only when the work started by earlier calls has settled, as if its client
 * had waited. The same calls therefore find the same state on every machine. Concurrent calls do not wait for each other, and
 * no call overtakes an earlier one.
 */
import type { Dispatch } from '../core/pipeline/request.ts'
import type { HostedWorld } from './world.ts'

export function inOrder(world: HostedWorld): Dispatch {
  let underWay = 0
  /** The wait of the first call; calls that arrive during it begin after it, in their order. */
  let settling: Promise<void> | undefined
  const settled = (): Promise<void> | undefined => {
    const clock = world.current?.clock
    if (underWay > 0 || clock?.mode !== 'frozen') return settling
    const wait: Promise<void> = clock.settled().finally(() => {
      if (settling === wait) settling = undefined
    })
    settling = wait
    return wait
  }
  const ended = (): void => {
    underWay--
  }
  return (request) => {
    const wait = settled()
    underWay++
    const answer = wait === undefined ? world.dispatch(request) : wait.then(() => world.dispatch(request))
    answer.then(ended, ended)
    return answer
  }
}
