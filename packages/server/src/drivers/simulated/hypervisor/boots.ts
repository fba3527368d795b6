import type { Domain, GuestSettings, GuestSystem } from '../../hypervisor.ts'
import { type BootTimes, bootTimes, type GuestOs } from '../guest.ts'
import type { Collection, SimulatedWorld } from '../world.ts'
import { type DiskFact, type DomainFact, diskFacts, hasFault, stopped } from './facts.ts'

const systems = {
  linux: { version: 'linux:64:Ubuntu 24.04', fullName: 'Ubuntu 24.04', buildNumber: '6.8.0-31' },
  windows: { version: 'windows:64:Windows Server 2022', fullName: 'Windows Server 2022', buildNumber: '20348' },
} as const

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

  areToolsReachable(fact: DomainFact): boolean {
    const { toolsFrom = 0, hungSince } = fact
    if (!fact.domain.hasGuestTools || hungSince !== undefined || hasFault(fact, 'TOOLS_CRASH')) return false
    const { startedAt = 0 } = this.settled(fact)
    return startedAt >= toolsFrom && this.#world.clock.now() >= this.timesOf(fact).toolsAt
  }

  settingsOf(fact: DomainFact): GuestSettings | undefined {
    const { domain } = this.settled(fact)
    const isWindows = this.guestOf(this.settled(fact)) === 'windows'
    return isWindows && this.isCustomizationDone(fact) ? domain.guestSettings : undefined
  }

  systemOf(fact: DomainFact): GuestSystem | undefined {
    const { domain } = fact
    const os = this.guestOf(this.settled(fact))
    if (os === undefined || os === 'installer') return undefined
    const name = this.settingsOf(fact)?.computerName ?? domain.name
    const dnsName = `${
      name
        .toLowerCase()
        .replace(/[^a-z0-9]+/g, '-')
        .replace(/^-+|-+$/g, '') || 'guest'
    }.local`
    return { ...systems[os], dnsName, virtIoVersion: '1.2.4' }
  }

  /** From the domain's last boot, which may have ended. */
  hasCustomized(fact: DomainFact): boolean {
    const endedAt = fact.haltedAt ?? fact.heldSince
    const hasRun = fact.state === 'ON' || endedAt !== undefined
    return hasRun ? this.isCustomizationDone(fact, endedAt) : !fact.domain.hasPendingCustomization
  }

  /** Without power; remembers whether its customisation has run. */
  off(fact: DomainFact): DomainFact {
    return stopped({ ...fact, domain: { ...fact.domain, hasPendingCustomization: !this.hasCustomized(fact) } })
  }

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
