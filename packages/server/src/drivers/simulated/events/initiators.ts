/** Clients of volume groups outside the clusters, and what serves them. Source: behaviour volumes-storage.md 3 (Faults). */

import { targetFacts } from '../block-facts.ts'
import { type InitiatorFact, initiatorFacts, portalFacts, sessionsOf } from '../block-sessions.ts'
import type { SimulatedWorld } from '../world.ts'
import type { Target } from './event.ts'

const openSessions = (world: SimulatedWorld, isOf: (clientExtId: string, clusterExtId: string) => boolean): number =>
  [...targetFacts(world).all().values()]
    .flatMap((target) =>
      sessionsOf(world, target).map((session) => ({ ...session, clusterExtId: target.clusterExtId })),
    )
    .filter(({ since, clientExtId, clusterExtId }) => since <= world.clock.now() && isOf(clientExtId, clusterExtId))
    .length

/** @returns number of ended sessions; undefined if the client was away already */
export async function disconnectClient(world: SimulatedWorld, { extId }: Target): Promise<number | undefined> {
  const fact = initiatorFacts(world).get(extId)
  if (fact?.isAway === true) return undefined
  const sessions = openSessions(world, (client) => client === extId)
  await initiatorFacts(world).put(extId, { ...fact, isAway: true, since: world.clock.now() })
  return sessions
}

export async function connectClient(world: SimulatedWorld, { extId }: Target): Promise<boolean> {
  const { isAway, ...fact } = initiatorFacts(world).get(extId) ?? { since: 0 }
  if (isAway !== true) return false
  await initiatorFacts(world).put(extId, { ...fact, since: world.clock.now() })
  return true
}

/** @param digest of the new secret; absent: one that the control plane does not have */
export async function changeClientSecret(world: SimulatedWorld, { extId }: Target, digest?: string): Promise<boolean> {
  const since = world.clock.now()
  const fact: Partial<InitiatorFact> = initiatorFacts(world).get(extId) ?? {}
  const otherSecret = digest === undefined ? { since } : { since, digest }
  await initiatorFacts(world).put(extId, { ...fact, otherSecret, since })
  return true
}

export async function restoreClientSecret(world: SimulatedWorld, { extId }: Target): Promise<boolean> {
  const { otherSecret, ...fact } = initiatorFacts(world).get(extId) ?? { since: 0 }
  if (otherSecret === undefined) return false
  await initiatorFacts(world).put(extId, { ...fact, since: world.clock.now() })
  return true
}

/** @returns number of ended sessions; undefined if the address was down already */
export async function failDataServices(world: SimulatedWorld, { extId }: Target): Promise<number | undefined> {
  if (portalFacts(world).get(extId)?.isDown === true) return undefined
  const sessions = openSessions(world, (_, cluster) => cluster === extId)
  await portalFacts(world).put(extId, { isDown: true, since: world.clock.now() })
  return sessions
}

export async function returnDataServices(world: SimulatedWorld, { extId }: Target): Promise<boolean> {
  if (portalFacts(world).get(extId)?.isDown !== true) return false
  await portalFacts(world).put(extId, { since: world.clock.now() })
  return true
}
