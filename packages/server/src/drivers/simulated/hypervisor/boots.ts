import type { Domain } from '../../hypervisor.ts'
import { type BootTimes, bootTimes, type GuestOs } from '../guest.ts'
import type { Collection, SimulatedWorld } from '../world.ts'
import { type DiskFact, type DomainFact, diskFacts, hasFault } from './facts.ts'

export class GuestBoots {
  readonly #world: SimulatedWorld
  readonly #isInstant: boolean

  constructor(world: SimulatedWorld, isInstant: boolean) {
    this.#world = world
    this.#isInstant = isInstant
  }

  timesOf(fact: DomainFact): BootTimes {
    const { domain, startedAt = 0 } = this.settled(fact)
    return bootTimes({
      seed: `${this.#world.seed}/${domain.extId}/${startedAt}`,
      startedAt,
      os: guestOf(domain, diskFacts(this.#world)),
      hasPendingCustomization: domain.hasPendingCustomization,
      isInstant: this.#isInstant,
    })
  }

  /** Treats a reboot by the guest like any other start. A customisation runs in one boot only. */
  settled(fact: DomainFact): DomainFact {
    const { restartedAt, ...before } = fact
    if (restartedAt === undefined) return fact
    const domain = { ...fact.domain, hasPendingCustomization: !this.isCustomizationDone(before, restartedAt) }
    return { ...before, domain, startedAt: restartedAt }
  }

  areToolsReachable(fact: DomainFact): boolean {
    const isCut = fact.hungSince !== undefined || hasFault(fact, 'TOOLS_CRASH')
    return fact.domain.hasGuestTools && !isCut && this.#world.clock.now() >= this.timesOf(fact).toolsAt
  }

  /** @param at milliseconds since 1970 */
  isCustomizationDone(fact: DomainFact, at = this.#world.clock.now()): boolean {
    return !this.settled(fact).domain.hasPendingCustomization || at >= this.timesOf(fact).ends.customization
  }
}

/** The guest on the first bootable device of the boot order. */
function guestOf({ bootOrder, diskExtIds, isoExtIds }: Domain, disks: Collection<DiskFact>): GuestOs | undefined {
  for (const device of bootOrder) {
    const candidates = device === 'DISK' ? diskExtIds : device === 'CDROM' ? isoExtIds : []
    const os = candidates.map((extId) => disks.get(extId)?.os).find((candidate) => candidate !== undefined)
    if (os !== undefined) return device === 'CDROM' ? 'installer' : os
  }
  return undefined
}
