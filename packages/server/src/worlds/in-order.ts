/**
 * With a frozen clock a call begins when work of earlier calls has settled, so that results are equal on every machine. Concurrent calls do
 * not wait for each other; no call overtakes an earlier one.
 */
import type { Dispatch } from '../core/pipeline/request.ts'
import type { HostedWorld } from './world.ts'

export function inOrder(world: HostedWorld): Dispatch {
  let underWay = 0
  /** Calls that arrive during the wait begin after it, in order. */
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
    const answer = wait === undefined ? world.dispatch(request) : wait.then(() => world.dispatch(request))
    if (!(answer instanceof Promise)) return answer
    underWay++
    answer.then(ended, ended)
    return answer
  }
}
