/** Two guests with one address on one subnet: neither uses it. Source: behaviour vmm.md 3.3. */
import type { DomainNic } from '../../hypervisor.ts'
import type { SimulatedWorld } from '../world.ts'
import type { GuestBoots } from './boots.ts'
import { type DomainFact, domainFacts } from './facts.ts'

export class AddressClashes {
  readonly #world: SimulatedWorld
  readonly #boots: GuestBoots
  /** Domains whose customisation sets addresses; undefined: to be collected again. */
  #customized: readonly DomainFact[] | undefined

  constructor(world: SimulatedWorld, boots: GuestBoots) {
    this.#world = world
    this.#boots = boots
    world.watch(['domains'], () => (this.#customized = undefined))
  }

  /** @param isStatic the customisation set the address: DHCP may have given it to another guest */
  isClashing(own: DomainFact, nic: DomainNic, address: string, isStatic: boolean): boolean {
    const others = isStatic ? domainFacts(this.#world).all().values() : this.#withSettings()
    for (const other of others) {
      if (other.state !== 'ON' || other.domain.extId === own.domain.extId) continue
      if (this.#uses(other, nic.subnetExtId, address)) return true
    }
    return false
  }

  /** Other guests take the addresses of their customisation during their boot. */
  mayChange(): boolean {
    return this.#withSettings().length > 0
  }

  #uses(other: DomainFact, subnetExtId: string | undefined, address: string): boolean {
    const onSubnet = other.domain.nics.filter((nic) => nic.isConnected && nic.subnetExtId === subnetExtId)
    if (onSubnet.length === 0 || this.#world.clock.now() < this.#boots.timesOf(other).ends.network) return false
    const fixed = this.#boots.settingsOf(other)?.addresses ?? {}
    return onSubnet.some((nic) => (fixed[nic.extId] ?? nic.address) === address)
  }

  #withSettings(): readonly DomainFact[] {
    this.#customized ??= [...domainFacts(this.#world).all().values()].filter(
      ({ domain }) => Object.keys(domain.guestSettings?.addresses ?? {}).length > 0,
    )
    return this.#customized
  }
}
