import { DriverError } from '../../core/tasks/define-task.ts'
import { hardwareFaults } from './hardware-faults.ts'
import type { SimulatedWorld } from './world.ts'

/** `later`: a host that is down gets it when it is back. @throws DriverError, retryable, when the agent of a host does not answer */
export function requireAgents(world: SimulatedWorld, hostExtIds: readonly string[], whenDown: 'fails' | 'later'): void {
  const faults = hardwareFaults(world)
  const silent = hostExtIds.find((extId) => {
    const { isAgentSilent, isDown } = faults.get(extId) ?? {}
    return isAgentSilent === true || (isDown === true && whenDown === 'fails')
  })
  if (silent === undefined) return
  throw DriverError.retryable(`the network agent of the host ${silent} does not answer within 30 s`)
}
