import type { Domain } from '../../hypervisor.ts'
import { type BootTimes, bootTimes, type GuestOs } from '../guest.ts'
import type { Collection, SimulatedWorld } from '../world.ts'
import { type DiskFact, type DomainFact, diskFacts } from './facts.ts'

export class GuestBoots {
  readonly #world: SimulatedWorld
  readonly #isInstant: boolean

  constructor(world: SimulatedWorld, isInstant: boolean) {
    this.#world = world
    this.#isInstant = isInstant
  }

  timesOf(fact: DomainFact): BootTimes {
    const settled = this.settled(fact)
    const { domain, startedAt = 0 } = settled
    return bootTimes({
      seed: `${this.#world.seed}/${domain.extId}/${startedAt}`,
      startedAt,
      os: this.guestOf(settled),
      hasPendingCustomization: domain.hasPendingCustomization,
      isInstant: this.#isInstant,
    })
  }

  guestOf({ bootedOs, domain }: DomainFact): GuestOs | undefined {
    return bootedOs === undefined ? guestOn(domain, diskFacts(this.#world)) : bootedOs === 'none' ? undefined : bootedOs
  }

  /** Treats a reboot by the guest like any other start. A customisation runs in one boot only. */
  settled(fact: DomainFact): DomainFact {
    const { restartedAt, ...before } = fact
    if (restartedAt === undefined) return fact
    const domain = { ...fact.domain, hasPendingCustomization: !this.isCustomizationDone(before, restartedAt) }
    const { bootedOs: _, ...rebooted } = before
    return { ...rebooted, domain, startedAt: restartedAt }
  }

  /** @param at milliseconds since 1970 */
  isCustomizationDone(fact: DomainFact, at = this.#world.clock.now()): boolean {
    return !this.settled(fact).domain.hasPendingCustomization || at >= this.timesOf(fact).ends.customization
  }
}

/** The guest on the first bootable device of the boot order. */
function guestOn({ bootOrder, diskExtIds, isoExtIds }: Domain, disks: Collection<DiskFact>): GuestOs | undefined {
  for (const device of bootOrder) {
    const candidates = device === 'DISK' ? diskExtIds : device === 'CDROM' ? isoExtIds : []
    const os = candidates.map((extId) => disks.get(extId)?.os).find((candidate) => candidate !== undefined)
    if (os !== undefined) return device === 'CDROM' ? 'installer' : os
  }
  return undefined
}
