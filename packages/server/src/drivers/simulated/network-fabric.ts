/**
 * A simulated network: what was programmed is a fact of the world; what others do in it follows from their addresses.
 * Source: behaviour networking.md 1.10 (the peer's behaviour), 3.1, 3.2.
 */
import { createHash } from 'node:crypto'
import type { BgpPeer, BgpState, DhcpService, NetworkFabric, SubnetProgram } from '../network-fabric.ts'
import { offeredRoutes } from './bgp-router.ts'
import { type Collection, drawsFrom, type SimulatedWorld } from './world.ts'

/** A peer, and the world's time in milliseconds since which the gateway holds it. */
export type BgpPeerFact = BgpPeer & { readonly since: number }

/** The facts, for seeds and for what happens outside the interface. */
export const fabricFacts = (
  world: SimulatedWorld,
): {
  readonly subnets: Collection<SubnetProgram>
  readonly dhcp: Collection<DhcpService>
  readonly bgpPeers: Collection<BgpPeerFact>
} => ({
  subnets: world.collection('fabric.subnet'),
  dhcp: world.collection('fabric.dhcp'),
  bgpPeers: world.collection('fabric.bgp-peer'),
})

export function createNetworkFabric(world: SimulatedWorld): NetworkFabric {
  const { subnets, dhcp, bgpPeers } = fabricFacts(world)
  return {
    programSubnet: (subnet) => subnets.put(subnet.extId, subnet),
    async removeSubnet(subnetExtId) {
      await dhcp.remove(subnetExtId)
      await subnets.remove(subnetExtId)
    },
    serveDhcp: (service) => dhcp.put(service.subnetExtId, service),
    stopDhcp: (subnetExtId) => dhcp.remove(subnetExtId),
    // Simulated guests are given the address of their lease; a responder has nothing to remember.
    announceAddresses: async () => undefined,
    async outsideAddress(vlan, macAddress) {
      const [network] = digest(`outside ${vlan.virtualSwitchExtId} ${vlan.tag}`)
      const mac = digest(`guest ${macAddress.toLowerCase()}`)
      // .0.0 and .255.255 are no hosts; .0.1 is the server itself.
      return `10.${network}.${mac[0]! % 255}.${2 + (mac[1]! % 253)}`
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
      const state = stateOf(peer, world.clock.now())
      return { state, routes: state === 'Established' ? offeredRoutes(peer) : [] }
    },
  }
}

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
