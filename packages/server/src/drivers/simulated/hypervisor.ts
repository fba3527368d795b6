/** Domains and disks are facts, guests a function of time. Source: behaviour vmm.md 3.1, 3.3, 3.4, 3.7. */
import type { Hypervisor } from '../hypervisor.ts'
import type { NetworkFabric } from '../network-fabric.ts'
import { GuestBoots } from './hypervisor/boots.ts'
import { createDisks } from './hypervisor/disks.ts'
import { createDomains } from './hypervisor/domains.ts'
import { createGuests } from './hypervisor/guests.ts'
import { SimulatedHosts } from './hypervisor/hosts.ts'
import { createMigration } from './hypervisor/migration.ts'
import type { SimulatedWorld } from './world.ts'

export {
  type DiskFact,
  type DomainFact,
  diskFacts,
  domainFacts,
  fullFacts,
  haltGuest,
  restarted,
  type StallFact,
  stallFacts,
} from './hypervisor/facts.ts'

export interface HypervisorSettings {
  readonly durations: 'instant' | 'natural'
  readonly networkFabric: Pick<NetworkFabric, 'outsideAddress'>
}

export function createHypervisor(world: SimulatedWorld, settings: HypervisorSettings): Hypervisor {
  const isInstant = settings.durations === 'instant'
  const hosts = new SimulatedHosts(world)
  const boots = new GuestBoots(world, isInstant)
  return {
    ...createDomains(world, { hosts, boots, isInstant }),
    ...createDisks(world, hosts, isInstant),
    ...createGuests(world, { hosts, boots, networkFabric: settings.networkFabric }),
    ...createMigration(hosts),
  }
}
