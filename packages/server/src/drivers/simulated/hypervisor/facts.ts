import type { guestFaults } from '@hyperplane/contract/control/world-happening'
import { defined } from '../../../core/defined.ts'
import type { Domain, DomainNic } from '../../hypervisor.ts'
import type { ServerState } from '../content/urls.ts'
import type { GuestOs } from '../guest.ts'
import type { SimulatedWorld } from '../world.ts'

/** All times are milliseconds since 1970. */
export interface DomainFact {
  readonly domain: Domain
  readonly state: 'ON' | 'OFF'
  readonly hostExtId?: string
  /** Last start or reset. */
  readonly startedAt?: number
  readonly lastReset?: string
  /** The guest or a call stopped it; cleared once the control plane has acknowledged it. */
  readonly haltedAt?: number
  /** The guest rebooted by itself; cleared once the control plane has acknowledged it. */
  readonly restartedAt?: number
  /** The host has lost its power at this time and did not start the domain when it came back. */
  readonly heldSince?: number
  /** Unreachable host; cleared by the next start. */
  readonly fencedFrom?: string
  /** Until the next reboot. */
  readonly hungSince?: number
  /** The tools run only in boots that started at this time or later. */
  readonly toolsFrom?: number
  /** `toolsFrom` before it was set last, until the next boot; null: it was not set. */
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
  /** When the top layer was laid over the one below; default: `createdAt`. */
  readonly layerSince?: number
  /** Bytes of deleted layers that were merged into this one, and those written before the last change of the size. */
  readonly mergedBytes?: number
  /** For the undo of a resize. */
  readonly beforeResize?: Pick<DiskFact, 'layerSince' | 'mergedBytes' | 'sizeBytes'>
  /** A layer that no guest writes to any more, with its bytes. */
  readonly frozenBytes?: number
  /** Milliseconds since 1970. */
  readonly frozenAt?: number
  /** In a CD-ROM drive, or of a template: no guest writes to it. */
  readonly isReadOnly?: true
  readonly hydration?: HydrationFact
  /** Deleted, but kept for the layers over it. */
  readonly isHidden?: boolean
}

/** Copying of an external source. */
export interface HydrationFact {
  readonly repository: string
  readonly isEnabled: boolean
  readonly server: ServerState
  /** At `since`, milliseconds since 1970. */
  readonly remainingBytes: number
  readonly since: number
}

export const domainFacts = (world: SimulatedWorld) => world.collection<DomainFact>('domains')
export const diskFacts = (world: SimulatedWorld) => world.collection<DiskFact>('virtualDisks')

/** By container id. */
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

/** The host came back at this moment; a domain that is held at start stays off. */
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
