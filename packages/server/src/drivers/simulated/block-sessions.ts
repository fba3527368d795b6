/** External initiators log in to targets that list them; sessions follow from facts and time. Source: volumes-storage.md 1.5, 3. */
import type { ClientSession } from '../block-storage.ts'
import type { TargetFact } from './block-facts.ts'
import { keyOf, noise } from './noise.ts'
import type { SimulatedWorld } from './world.ts'

/** By client id. Absent: the client is there, with the secrets that the control plane has. */
export interface InitiatorFact {
  /** Its host is off, or cut off from the cluster. */
  readonly isAway?: true
  /** Differs from the control plane's until the access list gets this secret, or the target a new one. */
  readonly otherSecret?: { readonly digest?: string; readonly since: number }
  /** Time of the last change. */
  readonly since: number
}

/** By cluster id: the address at which targets are served. */
interface PortalFact {
  readonly isDown?: true
  readonly since: number
}

type Entry = TargetFact['accessList'][string]

const pollMillis = 30_000

export const initiatorFacts = (world: SimulatedWorld) => world.collection<InitiatorFact>('blockStorage.initiators')
export const portalFacts = (world: SimulatedWorld) => world.collection<PortalFact>('blockStorage.portals')

export const sessionCollections = ['blockStorage.initiators', 'blockStorage.portals', 'blockStorage.targets'] as const

export const targetScope = (volumeGroupExtId: string): string => `target/${volumeGroupExtId}`
export const clientScope = (clientExtId: string): string => `client/${clientExtId}`

/** Open sessions and future logins, in the order of the access list. */
export function sessionsOf(world: SimulatedWorld, target: TargetFact): readonly ClientSession[] {
  const portal = portalFacts(world).get(target.clusterExtId)
  if (target.suspendedSince !== undefined || portal?.isDown === true) return []
  return Object.values(target.accessList).flatMap((entry) => {
    const initiator = initiatorFacts(world).get(entry.clientExtId)
    if (initiator?.isAway === true || !hasRightSecret(initiator, target, entry)) return []
    const ready = Math.max(entry.loginFrom ?? 0, target.resumedAt ?? 0, initiator?.since ?? 0, portal?.since ?? 0)
    return { clientExtId: entry.clientExtId, paths: entry.paths, since: nextPoll(world, entry.clientExtId, ready) }
  })
}

function hasRightSecret(initiator: InitiatorFact | undefined, target: TargetFact, entry: Entry): boolean {
  const other = initiator?.otherSecret
  if (other === undefined || target.chapDigest === undefined) return true
  if (entry.chapDigest !== undefined && other.digest !== undefined) return entry.chapDigest === other.digest
  return (entry.loginFrom ?? 0) > other.since
}

/** Each initiator looks for targets every 30 s, at its own seconds. */
function nextPoll(world: SimulatedWorld, clientExtId: string, time: number): number {
  const phase = Math.floor(noise(keyOf(`${world.seed}/initiator/${clientExtId}`), 0, 0) * pollMillis)
  return time <= 0 ? 0 : phase + Math.ceil((time - phase) / pollMillis) * pollMillis
}
