import { defined } from '../../../core/defined.ts'
import type { Domain } from '../../hypervisor.ts'
import type { GuestOs } from '../guest.ts'
import type { Collection, SimulatedWorld } from '../world.ts'

/** All times are milliseconds since 1970. */
export interface DomainFact {
  readonly domain: Domain
  readonly state: 'ON' | 'OFF'
  readonly hostExtId?: string
  /** Last start or reset. */
  readonly startedAt?: number
  readonly lastReset?: string
  /** The guest shut the machine down by itself; cleared once the control plane has acknowledged it. */
  readonly haltedAt?: number
  /** The guest rebooted by itself; cleared once the control plane has acknowledged it. */
  readonly restartedAt?: number
  /** Unreachable host; cleared by the next start. */
  readonly fencedFrom?: string
  /** Until the next reboot. */
  readonly hungSince?: number
  /** Guest of the last start, if the domain was reconfigured since: other disks count from the next start. */
  readonly bootedOs?: GuestOs | 'none'
}

/** A storage container that does not serve I/O. Milliseconds since 1970. */
export interface StallFact {
  readonly since: number
}

export interface DiskFact {
  readonly containerExtId: string
  readonly sizeBytes: number
  /** The disk below this copy-on-write layer. */
  readonly parentExtId?: string
  readonly os?: GuestOs
  readonly createdAt: number
  readonly hydration?: HydrationFact
  /** Deleted, but kept for the layers over it. */
  readonly isHidden?: boolean
}

/** Copying of an external source. */
export interface HydrationFact {
  readonly repository: string
  readonly isEnabled: boolean
  readonly isAway: boolean
  /** At `since`, milliseconds since 1970. */
  readonly remainingBytes: number
  readonly since: number
}

export const domainFacts = (world: SimulatedWorld): Collection<DomainFact> => world.collection('domains')
export const diskFacts = (world: SimulatedWorld): Collection<DiskFact> => world.collection('virtualDisks')

/** By container id. */
export const stallFacts = (world: SimulatedWorld): Collection<StallFact> => world.collection('storage.stalls')

/** By container id: no free space. */
export const fullFacts = (world: SimulatedWorld): Collection<StallFact> => world.collection('storage.full')

export function stopped({ domain, lastReset }: DomainFact): DomainFact {
  return { domain, state: 'OFF', ...(lastReset && { lastReset }) }
}

export async function haltGuest(world: SimulatedWorld, vmExtId: string): Promise<void> {
  const fact = domainFacts(world).get(vmExtId)
  if (fact?.state !== 'ON') return
  const { startedAt = 0, restartedAt } = fact
  const boot = defined({ startedAt, restartedAt })
  await domainFacts(world).put(vmExtId, { ...stopped(fact), ...boot, haltedAt: world.clock.now() })
}

export const restarted = (world: SimulatedWorld, { hungSince: _, ...fact }: DomainFact): DomainFact => ({
  ...fact,
  restartedAt: world.clock.now(),
})
