/** Guests that stop their writes for a recovery point. Source: behaviour vmm.md 1.6. */
import { DriverError } from '../../../core/tasks/define-task.ts'
import type { Guests } from '../../hypervisor.ts'
import type { GuestBoots } from './boots.ts'
import type { SimulatedHosts } from './hosts.ts'

export type Freezing = Pick<Guests, 'freezeGuest' | 'thawGuest'>

export function createFreezing(hosts: SimulatedHosts, boots: GuestBoots): Freezing {
  const { domains } = hosts
  return {
    async freezeGuest(vmExtId) {
      const fact = hosts.domain(vmExtId)
      hosts.requireAnswer('freezeGuest', hosts.placesOf(fact))
      if (fact.state !== 'ON' || !boots.areToolsReachable(fact))
        throw DriverError.final('the guest did not stop its writes within 10 s')
      await domains.put(vmExtId, { ...fact, isFrozen: true })
    },
    async thawGuest(vmExtId) {
      const fact = domains.get(vmExtId)
      if (fact?.isFrozen !== true) return
      const { isFrozen: _, ...thawed } = fact
      await domains.put(vmExtId, thawed)
    },
  }
}
