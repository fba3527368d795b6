/** Facts of the simulated hosts: domains, virtual disks, and containers whose storage stalls or is full. */
import { defined } from '../../../core/defined.ts'
import type { Domain } from '../../hypervisor.ts'
import type { GuestOs } from '../guest.ts'
import type { Collection, SimulatedWorld } from '../world.ts'

/** A domain as the hosts know it. All times are milliseconds since 1970. */
export interface DomainFact {
  readonly domain: Domain
  readonly state: 'ON' | 'OFF'
  readonly hostExtId?: string
  /** The last start or reset. */
  readonly startedAt?: number
  readonly lastReset?: string
  /** When the guest shut the machine down by itself; removed once the control plane has acknowledged it. */
  readonly haltedAt?: number
  /** When the guest rebooted by itself; removed once the control plane has acknowledged it. */
  readonly restartedAt?: number
  /** The silent host from which the domain was fenced; removed by the next start. */
  readonly fencedFrom?: string
  /** The guest has hung since then; a reboot ends that. */
  readonly hungSince?: number
}

/** A storage container that answers no reads and writes. */
export interface StallFact {
  /** Milliseconds since 1970. */
  readonly since: number
}

export interface DiskFact {
  readonly containerExtId: string
  readonly sizeBytes: number
  /** The disk that this one is a layer over. */
  readonly parentExtId?: string
  readonly os?: GuestOs
  readonly createdAt: number
  /** Deleted, and kept for the layers over it. */
  readonly isHidden?: boolean
}

export const domainFacts = (world: SimulatedWorld): Collection<DomainFact> => world.collection('domains')
export const diskFacts = (world: SimulatedWorld): Collection<DiskFact> => world.collection('virtualDisks')

/** By container. */
export const stallFacts = (world: SimulatedWorld): Collection<StallFact> => world.collection('storage.stalls')

/** Containers without free space, by id. */
export const fullFacts = (world: SimulatedWorld): Collection<StallFact> => world.collection('storage.full')

/** A domain that was stopped: only its configuration and the key of its last reset remain. */
export function stopped({ domain, lastReset }: DomainFact): DomainFact {
  return { domain, state: 'OFF', ...(lastReset && { lastReset }) }
}

/** The guest turns its machine off. */
export async function haltGuest(world: SimulatedWorld, vmExtId: string): Promise<void> {
  const fact = domainFacts(world).get(vmExtId)
  if (fact?.state !== 'ON') return
  const { startedAt = 0, restartedAt } = fact
  const boot = defined({ startedAt, restartedAt })
  await domainFacts(world).put(vmExtId, { ...stopped(fact), ...boot, haltedAt: world.clock.now() })
}

/** The guest of a running domain reboots by itself now. */
export const restarted = (world: SimulatedWorld, { hungSince: _, ...fact }: DomainFact): DomainFact => ({
  ...fact,
  restartedAt: world.clock.now(),
})
