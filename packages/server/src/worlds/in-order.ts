/**
 * Calls one after another in a world whose clock stands: each begins when what the ones before it started has come to rest,
 * as if time had been waited for. So the same calls find the same state, however fast the machine is. Calls at once do not
 * wait for each other.
 */
import type { Dispatch } from '../core/pipeline/request.ts'
import type { HostedWorld } from './world.ts'

export function inOrder(world: HostedWorld): Dispatch {
  let underWay = 0
  const left = (): void => {
    underWay--
  }
  return (request) => {
    const clock = world.current?.clock
    const isAlone = underWay++ === 0
    const isWaitedFor = isAlone && clock?.mode === 'frozen'
    const answer = isWaitedFor ? clock.settled().then(() => world.dispatch(request)) : world.dispatch(request)
    answer.then(left, left)
    return answer
  }
}
