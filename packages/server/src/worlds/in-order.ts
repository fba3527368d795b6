/**
 * In a world whose clock is frozen, a call begins when the work that earlier calls started has come to rest, as if its client had
 * waited. So the same calls find the same state, however fast the machine is. Calls that are under way at the same time do
 * not wait for each other, and none overtakes one that arrived before it.
 */
import type { Dispatch } from '../core/pipeline/request.ts'
import type { HostedWorld } from './world.ts'

export function inOrder(world: HostedWorld): Dispatch {
  let underWay = 0
  /** The wait of the call that came first; calls that arrive during it begin after it, in their order. */
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
  const left = (): void => {
    underWay--
  }
  return (request) => {
    const wait = settled()
    underWay++
    const answer = wait === undefined ? world.dispatch(request) : wait.then(() => world.dispatch(request))
    answer.then(left, left)
    return answer
  }
}
