/** An event: its target and changed facts. Drivers report the consequences to the control plane later. */
import { isDeepStrictEqual } from 'node:util'
import type { HappeningOf, HappeningType } from '@hyperplane/contract/control/world-happening'
import type { Collection, SimulatedWorld } from '../world.ts'

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
  | 'storage client'
  | 'storage container'
  | 'subnet'
  | 'VM'
  | 'volume disk'
  | 'volume group'
  | 'VPN connection'
  | 'web server'

export interface Target {
  readonly kind: TargetKind
  readonly extId: string
  readonly name: string
  readonly clusterExtId?: string
  readonly servers?: readonly string[]
}

/** Facts outside the simulated world that events need. */
export interface Surroundings {
  /** In logical bytes. */
  roomOf(containerExtId: string): Promise<{ readonly capacityBytes: number; readonly freeBytes: number }>
}

export interface Occurrence<E> extends Surroundings {
  readonly world: SimulatedWorld
  readonly event: E
  readonly target: Target
  readonly secretDigest?: string
}

/** Type and field by which a request names a target. */
export interface Naming {
  readonly kind: TargetKind
  readonly text: string
  readonly field: string
}

export interface EventSort<T extends HappeningType = HappeningType> {
  readonly about: (event: HappeningOf<T>) => Naming
  /** Returns a sentence per change. Checks precede the first write: a refusal changes nothing. @throws CannotHappen */
  readonly happen: (occurrence: Occurrence<HappeningOf<T>>) => Promise<readonly string[]>
  /** The event lasts until this other event happens to the same target. */
  readonly until?: HappeningType
  /** Affected part of the target, such as an uplink. Undefined in the ending event: all parts. */
  readonly part?: (event: HappeningOf<T>) => string | undefined
}

export class CannotHappen extends Error {
  /** Absent if the state of the target is the reason. */
  readonly field: string | undefined
  constructor(message: string, field?: string) {
    super(message)
    this.field = field
  }
}

/** `undefined` clears the fault; a row without faults is removed. */
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

/** @returns false if nothing changed */
export async function setFlag<F extends object>(
  world: SimulatedWorld,
  collection: string,
  id: string,
  flag: keyof F,
  isSo: boolean,
): Promise<boolean> {
  if ((simulatedFault<F>(world, collection, id)[flag] === true) === isSo) return false
  await setFault<F>(world, collection, id, { [flag]: isSo || undefined } as { [K in keyof F]?: F[K] })
  return true
}

/** `undefined` removes the fact. @returns false if nothing changed */
export async function setFact<T>(facts: Collection<T>, id: string, next: T | undefined): Promise<boolean> {
  if (isDeepStrictEqual(facts.get(id), next)) return false
  if (next === undefined) await facts.remove(id)
  else await facts.put(id, next)
  return true
}

export const simulatedFault = <F extends object>(world: SimulatedWorld, collection: string, id: string): Partial<F> =>
  world.collection<F>(collection).get(id) ?? {}
