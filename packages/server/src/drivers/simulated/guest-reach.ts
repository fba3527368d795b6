/** Since when the simulated network reaches a guest through its NICs. Source: behaviour networking.md 1.14, 1.15, 3.4. */
import { GuestBoots } from './hypervisor/boots.ts'
import type { DomainFact } from './hypervisor/facts.ts'
import { isPaused } from './hypervisor/guests.ts'
import { SimulatedHosts } from './hypervisor/hosts.ts'
import { renewMillis } from './hypervisor/nics.ts'
import type { SimulatedWorld } from './world.ts'

/** @returns milliseconds since 1970, in the future while the guest boots; undefined: it cannot be reached */
export type GuestReach = (
  vmExtId: string,
  nicExtIds: readonly string[],
  /** Whether the guest would answer. */
  answers: (guest: DomainFact) => boolean,
) => number | undefined

export function guestReach(world: SimulatedWorld, isInstant: boolean): GuestReach {
  const hosts = new SimulatedHosts(world)
  const boots = new GuestBoots(world, isInstant)
  // Facts are replaced, never changed; a change of one guest must not cost the boots of all.
  const known = new WeakMap<DomainFact, number>()
  const bootOf = (guest: DomainFact): number => {
    const bootedAt = known.get(guest) ?? boots.timesOf(guest).ends.customization
    known.set(guest, bootedAt)
    return bootedAt
  }
  return (vmExtId, nicExtIds, answers) => {
    const guest = hosts.domains.get(vmExtId)
    if (guest?.state !== 'ON' || guest.hungSince !== undefined || !answers(guest)) return undefined
    if (isPaused(world, guest) || hosts.faultOf(guest.hostExtId).isDown === true) return undefined
    const bootedAt = bootOf(guest)
    if (!Number.isFinite(bootedAt)) return undefined
    const isConnected = (nicExtId: string): boolean =>
      guest.domain.nics.some(({ extId, isConnected: has }) => extId === nicExtId && has)
    if (!nicExtIds.every(isConnected)) return undefined
    const pluggedAt = isInstant ? [] : nicExtIds.flatMap((extId) => guest.nicChanges?.[extId]?.at ?? [])
    return Math.max(bootedAt, ...pluggedAt.map((at) => at + renewMillis))
  }
}
