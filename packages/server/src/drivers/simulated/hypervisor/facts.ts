import type { guestFaults } from '@hyperplane/contract/control/world-happening'
import { defined } from '../../../core/defined.ts'
import type { Domain, DomainNic } from '../../hypervisor.ts'
import type { ServerState } from '../content/urls.ts'
import type { GuestOs } from '../guest.ts'
import type { SimulatedWorld } from '../world.ts'

export interface DomainFact {
  readonly domain: Domain
  readonly state: 'ON' | 'OFF'
  readonly hostExtId?: string
  readonly startedAt?: number
  readonly lastReset?: string
  /** Stopped by the guest or a call; cleared once the control plane has acknowledged it. */
  readonly haltedAt?: number
  /** Rebooted by the guest; cleared once the control plane has acknowledged it. */
  readonly restartedAt?: number
  /** The host lost its power then, and did not start the domain when it came back. */
  readonly heldSince?: number
  /** Unreachable host; cleared by the next start. */
  readonly fencedFrom?: string
  readonly hungSince?: number
  /** The tools run only in boots that started at this time or later. */
  readonly toolsFrom?: number
  /** Previous `toolsFrom`, until the next boot; null: there was none. */
  readonly toolsBefore?: number | null
  readonly lastSetup?: string
  readonly guestFaults?: readonly GuestFault[]
  /** On which no service of the guest answers. */
  readonly closedPorts?: readonly number[]
  /** The guest has stopped its writes for a recovery point. */
  readonly isFrozen?: boolean
  /** By NIC id: changes while the domain runs, which the guest notices later. */
  readonly nicChanges?: Readonly<Record<string, NicChange>>
  /** Guest of the last start, if the domain was reconfigured since: other disks count from the next start. */
  readonly bootedOs?: GuestOs | 'none'
}

export interface NicChange {
  readonly at: number
  /** Absent: the NIC is new. */
  readonly before?: DomainNic
}

export type GuestFault = (typeof guestFaults)[number]

export const hasFault = ({ guestFaults = [] }: DomainFact, fault: GuestFault): boolean => guestFaults.includes(fault)

/** A storage container that does not serve I/O. */
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
  /** When the top layer was laid over the one below; default: `createdAt`. */
  readonly layerSince?: number
  /** Bytes of deleted layers that were merged into this one, and those written before the last resize. */
  readonly mergedBytes?: number
  /** For the undo of a resize. */
  readonly beforeResize?: Pick<DiskFact, 'layerSince' | 'mergedBytes' | 'sizeBytes'>
  /** Size of a layer that no guest writes to any more. */
  readonly frozenBytes?: number
  readonly frozenAt?: number
  /** In a CD-ROM drive, or of a template: no guest writes to it. */
  readonly isReadOnly?: true
  readonly hydration?: HydrationFact
  /** Deleted, but kept for the layers over it. */
  readonly isHidden?: boolean
}

export interface HydrationFact {
  readonly repository: string
  readonly isEnabled: boolean
  readonly server: ServerState
  /** At `since`. */
  readonly remainingBytes: number
  readonly since: number
}

export const domainFacts = (world: SimulatedWorld) => world.collection<DomainFact>('domains')
export const diskFacts = (world: SimulatedWorld) => world.collection<DiskFact>('virtualDisks')

export const stallFacts = (world: SimulatedWorld) => world.collection<StallFact>('storage.stalls')

/** By container id: no free space. */
export const fullFacts = (world: SimulatedWorld) => world.collection<StallFact>('storage.full')

/** By VM id: domains that do not start with their host. */
export const holdFacts = (world: SimulatedWorld) => world.collection<object>('startHolds')

export function stopped({ domain, lastReset, guestFaults, closedPorts }: DomainFact): DomainFact {
  return { domain, state: 'OFF', ...defined({ lastReset, guestFaults, closedPorts }) }
}

export async function haltGuest(world: SimulatedWorld, vmExtId: string): Promise<void> {
  const fact = domainFacts(world).get(vmExtId)
  if (fact?.state === 'ON') await domainFacts(world).put(vmExtId, halted(fact, world.clock.now()))
}

/** With its last boot, which tells whether its customisation has run. */
export function halted(fact: DomainFact, haltedAt: number): DomainFact {
  const { startedAt = 0, restartedAt } = fact
  return { ...stopped(fact), ...defined({ startedAt, restartedAt }), haltedAt }
}

/** For a host that comes back now; a domain that is held at start stays off. */
export function backWithHost(world: SimulatedWorld, extId: string, fact: DomainFact, lostAt: number): DomainFact {
  if (holdFacts(world).get(extId) === undefined) return restarted(world, fact)
  const { startedAt = 0, restartedAt, hostExtId } = fact
  return { ...stopped(fact), ...defined({ startedAt, restartedAt, hostExtId }), heldSince: lostAt }
}

export const restarted = (world: SimulatedWorld, { hungSince: _, ...fact }: DomainFact): DomainFact => ({
  ...fact,
  restartedAt: world.clock.now(),
})

/** Tools that are set up or enabled while the guest runs start with its next boot. */
export const withNewTools = (fact: DomainFact, now: number): DomainFact => ({
  ...fact,
  toolsFrom: now,
  toolsBefore: fact.toolsBefore === undefined ? (fact.toolsFrom ?? null) : fact.toolsBefore,
})
