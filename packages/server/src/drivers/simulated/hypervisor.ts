/** Domains and disks are facts, guests a function of time. Source: behaviour vmm.md 3.1, 3.3, 3.4, 3.7. */
import type { Hypervisor } from '../hypervisor.ts'
import type { NetworkFabric } from '../network-fabric.ts'
import { GuestBoots } from './hypervisor/boots.ts'
import { createConsoles } from './hypervisor/consoles.ts'
import { createDisks } from './hypervisor/disks.ts'
import { createDomains } from './hypervisor/domains.ts'
import { createFreezing } from './hypervisor/freezing.ts'
import { createVmGroups } from './hypervisor/groups.ts'
import { createGuests } from './hypervisor/guests.ts'
import { SimulatedHosts } from './hypervisor/hosts.ts'
import { createMigration } from './hypervisor/migration.ts'
import { createStartHolds } from './hypervisor/start-holds.ts'
import type { SimulatedWorld } from './world.ts'

interface HypervisorSettings {
  readonly durations: 'instant' | 'natural'
  readonly networkFabric: Pick<NetworkFabric, 'outsideAddress'>
}

export function createHypervisor(world: SimulatedWorld, settings: HypervisorSettings): Hypervisor {
  const isInstant = settings.durations === 'instant'
  const hosts = new SimulatedHosts(world)
  const boots = new GuestBoots(world, isInstant)
  return {
    ...createConsoles(world, hosts, boots),
    ...createDomains(world, { hosts, boots, isInstant }),
    ...createDisks(world, hosts, isInstant),
    ...createGuests(world, { hosts, boots, isInstant, networkFabric: settings.networkFabric }),
    ...createMigration(world, hosts, isInstant),
    ...createStartHolds(world),
    ...createVmGroups(world, hosts),
    ...createFreezing(hosts, boots),
  }
}
