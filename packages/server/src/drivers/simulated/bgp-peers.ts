/** Simulated BGP peers. Whether a session is up is a function of its facts and of time. Source: networking.md 1.10. */
import { drawsFrom } from '../../core/ids/draws.ts'
import { reasonsToIgnore } from '../bgp-filter.ts'
import { secretDigest } from '../hardware.ts'
import type { BgpPeer, BgpPeerView, BgpState, NetworkFabric, ReceivedRoute } from '../network-fabric.ts'
import { type OfferedRoute, offeredRoutes, offerOf } from './bgp-router.ts'
import { serviceOf } from './gateways.ts'
import { advertisedOf, surroundingsOf } from './router-surroundings.ts'
import type { SimulatedWorld } from './world.ts'

/** `since`: when the session began to be established. */
type BgpPeerFact = Omit<BgpPeer, 'password'> & { readonly since: number; readonly passwordDigest?: string }

interface BgpFault {
  readonly silentSince?: number
  /** CIDR texts of further routes. */
  readonly originates?: readonly string[]
}

/** BGP hold time: a silent peer is lost after it. */
const holdMillis = 90_000

export const bgpFacts = (world: SimulatedWorld) => ({
  bgpPeers: world.collection<BgpPeerFact>('fabric.bgp-peer'),
  bgpFaults: world.collection<BgpFault>('fabric.bgp-fault'),
})

function factOfPeer({ password, ...peer }: BgpPeer, since: number): BgpPeerFact {
  const passwordDigest = password === undefined ? {} : { passwordDigest: secretDigest(peer.sessionExtId, password) }
  return { ...peer, since, ...passwordDigest }
}

/** A peer that answers again establishes a new session. */
export async function setPeerSilent(world: SimulatedWorld, sessionExtId: string, isSilent: boolean): Promise<void> {
  const { bgpPeers, bgpFaults } = bgpFacts(world)
  const { silentSince: _, ...others } = bgpFaults.get(sessionExtId) ?? {}
  await bgpFaults.put(sessionExtId, isSilent ? { ...others, silentSince: world.clock.now() } : others)
  const peer = bgpPeers.get(sessionExtId)
  if (!isSilent && peer !== undefined) await bgpPeers.put(sessionExtId, { ...peer, since: world.clock.now() })
}

type BgpCalls = Pick<NetworkFabric, 'addBgpPeer' | 'removeBgpPeer' | 'bgpPeer'>

export function createBgpPeers(world: SimulatedWorld): BgpCalls {
  const { bgpPeers, bgpFaults } = bgpFacts(world)
  return {
    async addBgpPeer(peer) {
      const present = bgpPeers.get(peer.sessionExtId)
      const next = factOfPeer(peer, present?.since ?? world.clock.now())
      const isSame = present !== undefined && connectionOf(present) === connectionOf(next)
      await bgpPeers.put(peer.sessionExtId, isSame ? next : { ...next, since: world.clock.now() })
    },
    async removeBgpPeer(sessionExtId) {
      await bgpPeers.remove(sessionExtId)
      await bgpFaults.remove(sessionExtId)
    },
    bgpPeer: async (sessionExtId) => viewOfPeer(world, sessionExtId),
  }
}

/** A change of this text ends an established session. */
const connectionOf = ({ local, remote, passwordDigest }: BgpPeerFact): string =>
  JSON.stringify([
    local.address,
    local.autonomousSystemNumber,
    remote.address,
    remote.autonomousSystemNumber,
    passwordDigest,
  ])

function viewOfPeer(world: SimulatedWorld, sessionExtId: string): BgpPeerView | undefined {
  const peer = bgpFacts(world).bgpPeers.get(sessionExtId)
  if (peer === undefined) return undefined
  const { state, reason } = stateOfPeer(world, peer)
  if (state !== 'Established') return { state, ...(reason && { reason }), received: [], advertised: [] }
  return { state, received: receivedBy(world, peer), advertised: advertisedOf(world, peer) }
}

/** Accepted and ignored routes; none unless established. */
export function receivedBy(world: SimulatedWorld, peer: BgpPeerFact): readonly ReceivedRoute[] {
  if (stateOfPeer(world, peer).state !== 'Established') return []
  const { originates = [] } = bgpFacts(world).bgpFaults.get(peer.sessionExtId) ?? {}
  const offers = [...offeredRoutes(peer), ...originated(peer, originates)].flatMap((offered) =>
    offerOf({ ...offered, text: offered.prefix }),
  )
  const { prefixes, externallyRoutable, ports } = surroundingsOf(world, peer.vpcExtId)
  const reasons = reasonsToIgnore(offers, {
    localAsn: peer.local.autonomousSystemNumber,
    own: [...prefixes.map(({ prefix }) => prefix), ...externallyRoutable],
    external: ports.filter(({ isTranslated }) => !isTranslated).flatMap((port) => port.prefixes),
  })
  return offers.map(({ text, communities }, index) => {
    const ignored = reasons[index]
    return { prefix: text, nexthop: peer.remote.address, communities, ...(ignored !== undefined && { ignored }) }
  })
}

const originated = ({ remote }: BgpPeerFact, prefixes: readonly string[]): OfferedRoute[] =>
  prefixes.map((prefix) => ({
    prefix,
    nexthop: remote.address,
    autonomousSystemPath: [remote.autonomousSystemNumber],
    communities: [],
  }))

function stateOfPeer(world: SimulatedWorld, peer: BgpPeerFact): { readonly state: BgpState; readonly reason?: string } {
  const { upSince, reason } = serviceOf(world, peer.gatewayExtId)
  return upSince === undefined
    ? { state: 'Idle', reason }
    : stateSince(world, { ...peer, since: Math.max(peer.since, upSince) })
}

/** @param peer a peer of a gateway that is up */
function stateSince(world: SimulatedWorld, peer: BgpPeerFact): { readonly state: BgpState; readonly reason?: string } {
  const { silentSince } = bgpFacts(world).bgpFaults.get(peer.sessionExtId) ?? {}
  const now = world.clock.now()
  const wasUp = silentSince !== undefined && progressOf(peer, silentSince) === 'Established'
  if (silentSince !== undefined && (now - silentSince >= holdMillis || !wasUp))
    return { state: 'Active', reason: 'the peer does not answer' }
  return { state: progressOf(peer, now) }
}

/** Establishment takes 2 to 8 s, drawn for each session. */
function progressOf(peer: BgpPeerFact, now: number): BgpState {
  const established = 2000 + 6000 * drawsFrom(`bgp ${peer.sessionExtId}`)()
  const part = (now - peer.since) / established
  if (part >= 1) return 'Established'
  if (part >= 0.9) return 'OpenConfirm'
  if (part >= 0.7) return 'OpenSent'
  return part >= 0.2 ? 'Connect' : 'Idle'
}
