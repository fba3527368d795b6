/**
 * How an event is described: what it is about, and what it changes in the world. An event changes facts; what follows from
 * them, drivers tell the control plane in their own time.
 */
import type { HappeningOf, HappeningType } from '@hyperplane/contract/control/world-happening'
import type { SimulatedWorld } from '../world.ts'

/** Kinds of things that events are about, as people call them. */
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
  /** Of a disk: the host that it is in. */
  readonly hostExtId?: string
  /** Of a storage container. */
  readonly clusterExtId?: string
  /** Of a directory: host names of its servers. */
  readonly servers?: readonly string[]
}

/** What an event must know that is no fact of the world. */
export interface Surroundings {
  /** Logical bytes: all that the container can hold, and what can still be written to it. */
  roomOf(containerExtId: string): Promise<{ readonly capacityBytes: number; readonly freeBytes: number }>
  /** Names of all uplinks of a host, and of those through which it is managed. */
  uplinksOf(hostExtId: string): Promise<{ readonly all: readonly string[]; readonly management: readonly string[] }>
}

export interface Occurrence<E> extends Surroundings {
  readonly world: SimulatedWorld
  readonly event: E
  readonly target: Target
  /** Of the secret that came with the event; see `digestOfSecret`. */
  readonly secretDigest?: string
}

/** What somebody wrote to name a target, and where it stands in the event. */
export interface Naming {
  readonly kind: TargetKind
  readonly text: string
  readonly field: string
}

export interface EventSort<T extends HappeningType = HappeningType> {
  readonly about: (event: HappeningOf<T>) => Naming
  /**
   * Changes the facts. Answers in words what it changed; nothing where it was so already. Writes facts last, so that a refusal
   * leaves none. @throws CannotHappen
   */
  readonly happen: (occurrence: Occurrence<HappeningOf<T>>) => Promise<readonly string[]>
  /** It lasts until this other event happens to the same target. */
  readonly until?: HappeningType
  /** Which part of the target it is about; of its counterpart, nothing stands for all. */
  readonly part?: (event: HappeningOf<T>) => string | undefined
}

/** The world is not such that this could happen; the message says why, and what could. */
export class CannotHappen extends Error {
  /** Field of the event that is at fault; absent: the state of its target. */
  readonly field: string | undefined
  constructor(message: string, field?: string) {
    super(message)
    this.field = field
  }
}

/** What is wrong with a thing, with these fields changed: `undefined` mends one, and nothing wrong is no fact. */
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
