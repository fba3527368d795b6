/** The simulated network. Source: behaviour networking.md 1.10 (the peer's behaviour), 3.1, 3.2. */

import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { drawsFrom } from '../../core/ids/draws.ts'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { BgpPeer, BgpState, DhcpService, NetworkFabric, OfferedRoute, SubnetProgram } from '../network-fabric.ts'
import { offeredRoutes } from './bgp-router.ts'
import type { HardwareFault } from './hardware.ts'
import { createVirtualRouting } from './virtual-routing.ts'
import type { Collection, SimulatedWorld } from './world.ts'

/** `since`: when the gateway got the peer; world's time in milliseconds. */
export type BgpPeerFact = BgpPeer & { readonly since: number }

/** By session id. */
export interface BgpFault {
  /** World's time in milliseconds. */
  readonly silentSince?: number
  /** CIDR texts of further routes. */
  readonly originates?: readonly string[]
}

/** BGP hold time: a silent peer is lost after it. */
const holdMillis = 90_000

export const fabricFacts = (
  world: SimulatedWorld,
): {
  readonly subnets: Collection<SubnetProgram>
  readonly dhcp: Collection<DhcpService>
  readonly bgpPeers: Collection<BgpPeerFact>
  readonly bgpFaults: Collection<BgpFault>
} => ({
  subnets: world.collection('fabric.subnet'),
  dhcp: world.collection('fabric.dhcp'),
  bgpPeers: world.collection('fabric.bgp-peer'),
  bgpFaults: world.collection('fabric.bgp-fault'),
})

/** A peer that answers again establishes a new session. */
export async function setPeerSilent(world: SimulatedWorld, sessionExtId: string, isSilent: boolean): Promise<void> {
  const { bgpPeers, bgpFaults } = fabricFacts(world)
  const { silentSince: _, ...others } = bgpFaults.get(sessionExtId) ?? {}
  await bgpFaults.put(sessionExtId, isSilent ? { ...others, silentSince: world.clock.now() } : others)
  const peer = bgpPeers.get(sessionExtId)
  if (!isSilent && peer !== undefined) await bgpPeers.put(sessionExtId, { ...peer, since: world.clock.now() })
}

export function createNetworkFabric(world: SimulatedWorld): NetworkFabric {
  const { subnets, dhcp, bgpPeers, bgpFaults } = fabricFacts(world)
  const hosts = world.collection<HardwareFault>('hardware.faults')
  return {
    ...createVirtualRouting(world),
    async programSubnet(subnet) {
      if (isDeepStrictEqual(subnets.get(subnet.extId), subnet)) return
      // A host that is down gets the configuration when it is back.
      const silent = subnet.hostExtIds.find((extId) => hosts.get(extId)?.isAgentSilent === true)
      if (silent !== undefined)
        throw new DriverError(`the network agent of the host ${silent} does not answer within 30 s`, {
          retryable: true,
        })
      await subnets.put(subnet.extId, subnet)
    },
    async removeSubnet(subnetExtId) {
      await dhcp.remove(subnetExtId)
      await subnets.remove(subnetExtId)
    },
    serveDhcp: (service) => dhcp.put(service.subnetExtId, service),
    stopDhcp: (subnetExtId) => dhcp.remove(subnetExtId),
    // Simulated guests get the address of their lease directly.
    announceAddresses: async () => undefined,
    async outsideAddress(vlan, macAddress) {
      const [network] = digest(`outside ${vlan.virtualSwitchExtId} ${vlan.tag}`)
      const [third = 0, fourth = 0] = digest(`guest ${macAddress.toLowerCase()}`)
      // .0.0 and .255.255 are no hosts; .0.1 is the server itself.
      return `10.${network}.${third % 255}.${2 + (fourth % 253)}`
    },
    async addBgpPeer(peer) {
      if (bgpPeers.get(peer.sessionExtId) === undefined) {
        await bgpPeers.put(peer.sessionExtId, { ...peer, since: world.clock.now() })
      }
    },
    removeBgpPeer: (sessionExtId) => bgpPeers.remove(sessionExtId),
    async bgpPeer(sessionExtId) {
      const peer = bgpPeers.get(sessionExtId)
      if (peer === undefined) return undefined
      const { silentSince, originates = [] } = bgpFaults.get(sessionExtId) ?? {}
      const now = world.clock.now()
      if (silentSince !== undefined && (now - silentSince >= holdMillis || !isUp(peer, silentSince))) {
        return { state: 'Active', reason: 'the peer does not answer', routes: [] }
      }
      const state = stateOf(peer, now)
      return { state, routes: state === 'Established' ? [...offeredRoutes(peer), ...offered(peer, originates)] : [] }
    },
  }
}

const isUp = (peer: BgpPeerFact, at: number): boolean => stateOf(peer, at) === 'Established'

const offered = ({ remote }: BgpPeer, prefixes: readonly string[]): OfferedRoute[] =>
  prefixes.map((prefix) => ({
    prefix,
    nexthop: remote.address,
    autonomousSystemPath: [remote.autonomousSystemNumber],
    communities: [],
  }))

/** Establishment takes 2 to 8 s, drawn for each session. */
function stateOf(peer: BgpPeerFact, now: number): BgpState {
  const established = 2000 + 6000 * drawsFrom(`bgp ${peer.sessionExtId}`)()
  const part = (now - peer.since) / established
  if (part >= 1) return 'Established'
  if (part >= 0.9) return 'OpenConfirm'
  if (part >= 0.7) return 'OpenSent'
  return part >= 0.2 ? 'Connect' : 'Idle'
}

const digest = (text: string): Buffer => createHash('sha1').update(text).digest()
