/**
 * Describes an event: its target and the facts of the simulated world that it changes. Consequences are not part of it:
 * drivers report them to the control plane in their own time.
 */
import type { HappeningOf, HappeningType } from '@hyperplane/contract/control/world-happening'
import type { SimulatedWorld } from '../world.ts'

export type TargetKind =
  | 'BGP session'
  | 'certificate authority'
  | 'cluster'
  | 'content server'
  | 'directory'
  | 'directory user'
  | 'disk'
  | 'external VM'
  | 'host'
  | 'network controller'
  | 'place of backups'
  | 'remote cluster or manager'
  | 'storage container'
  | 'subnet'
  | 'VM'
  | 'volume disk'
  | 'web server'

export interface Target {
  readonly kind: TargetKind
  readonly extId: string
  readonly name: string
  /** For disks: the host with the disk. */
  readonly hostExtId?: string
  /** For storage containers: their cluster. */
  readonly clusterExtId?: string
  /** For directories: host names of the servers. */
  readonly servers?: readonly string[]
}

/** Knowledge from outside the simulated world that events need. */
export interface Surroundings {
  /** In logical bytes: total capacity of a container, and free space. */
  roomOf(containerExtId: string): Promise<{ readonly capacityBytes: number; readonly freeBytes: number }>
  /** Names of all uplinks of a host, and of its management uplinks. */
  uplinksOf(hostExtId: string): Promise<{ readonly all: readonly string[]; readonly management: readonly string[] }>
}

export interface Occurrence<E> extends Surroundings {
  readonly world: SimulatedWorld
  readonly event: E
  readonly target: Target
  /** Digest of the secret in the event; see `digestOfSecret`. */
  readonly secretDigest?: string
}

/** How a request names a target, and in which field of the event. */
export interface Naming {
  readonly kind: TargetKind
  readonly text: string
  readonly field: string
}

export interface EventSort<T extends HappeningType = HappeningType> {
  readonly about: (event: HappeningOf<T>) => Naming
  /**
   * Changes the facts. Returns sentences about the changes; none if there are no changes. Checks come before the first
   * write, so that a refusal changes nothing. @throws CannotHappen
   */
  readonly happen: (occurrence: Occurrence<HappeningOf<T>>) => Promise<readonly string[]>
  /** The event lasts until this other event happens to the same target. */
  readonly until?: HappeningType
  /** The part of the target, such as an uplink. Undefined in the ending event: all parts. */
  readonly part?: (event: HappeningOf<T>) => string | undefined
}

/** The state of the world does not permit the event; the message says why, and what is permitted. */
export class CannotHappen extends Error {
  /** The invalid field of the event; absent if the state of the target is the reason. */
  readonly field: string | undefined
  constructor(message: string, field?: string) {
    super(message)
    this.field = field
  }
}

/** Changes some faults of a thing: `undefined` clears one. A thing without faults has no row. */
export async function setFault<F extends object>(
  world: SimulatedWorld,
  collection: string,
  id: string,
  changes: { readonly [K in keyof F]?: F[K] | undefined },
): Promise<void> {
  const faults = world.collection<object>(collection)
  const merged = Object.entries({ ...faults.get(id), ...changes }).filter(([, value]) => value !== undefined)
  if (merged.length === 0) await faults.remove(id)
  else await faults.put(id, Object.fromEntries(merged))
}

export const faultOf = <F extends object>(world: SimulatedWorld, collection: string, id: string): Partial<F> =>
  world.collection<F>(collection).get(id) ?? {}
