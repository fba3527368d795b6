/** Whether the guest behind a NIC sends and answers, for health checks and traces alike. */
import type { SimulatedWorld } from '../world.ts'
import { GuestBoots } from './boots.ts'
import type { DomainFact } from './facts.ts'
import { SimulatedHosts } from './hosts.ts'
import { renewMillis } from './nics.ts'
import { isPaused } from './paused.ts'

/** `since` is in the future while the guest boots or gets an address. */
export type Reach = { readonly since: number } | { readonly fault: string }

/** @returns a function of guest, NIC and port; without a port: whether the guest uses the network at all */
export function guestReach(
  world: SimulatedWorld,
  isInstant: boolean,
): (guest: DomainFact, nicExtId: string, port?: number) => Reach {
  const hosts = new SimulatedHosts(world)
  const boots = new GuestBoots(world, isInstant)
  // Facts are replaced, never changed; a change of one guest must not cost the boots of all.
  const cached = new WeakMap<DomainFact, number>()
  const bootOf = (guest: DomainFact): number => {
    const bootedAt = cached.get(guest) ?? boots.timesOf(guest).ends.customization
    cached.set(guest, bootedAt)
    return bootedAt
  }
  const faultOf = (guest: DomainFact, nicExtId: string, port: number | undefined): string | undefined => {
    const { name, nics } = guest.domain
    if (guest.state !== 'ON') return `the VM ${name} is off`
    if (hosts.faultOf(guest.hostExtId).isDown === true) return `the host of the VM ${name} is down`
    if (nics.find(({ extId }) => extId === nicExtId)?.isConnected !== true)
      return `the NIC of the VM ${name} is not connected`
    if (isPaused(world, guest)) return `the VM ${name} is paused, because a storage container is full`
    if (guest.hungSince !== undefined) return `the guest of the VM ${name} hangs`
    if (port !== undefined && guest.closedPorts?.includes(port))
      return `no service of the VM ${name} answers on ${port}`
    return Number.isFinite(bootOf(guest)) ? undefined : `the guest of the VM ${name} has not booted`
  }
  return (guest, nicExtId, port) => {
    const fault = faultOf(guest, nicExtId, port)
    if (fault !== undefined) return { fault }
    const pluggedAt = guest.nicChanges?.[nicExtId]?.at
    const bootedAt = bootOf(guest)
    return { since: pluggedAt === undefined || isInstant ? bootedAt : Math.max(bootedAt, pluggedAt + renewMillis) }
  }
}
