/** The simulated network. Source: behaviour networking.md 3.1, 3.2. */

import { isDeepStrictEqual } from 'node:util'
import type { DhcpService, NetworkFabric, SubnetProgram } from '../network-fabric.ts'
import { bgpFacts, createBgpPeers } from './bgp-peers.ts'
import { createBridges } from './bridge-programs.ts'
import { bridgeViews } from './bridges.ts'
import { createExporting } from './flow-exporters.ts'
import type { Flows } from './flows/flows.ts'
import { createFlowStatistics } from './flows/statistics.ts'
import { createGateways } from './gateways.ts'
import { requireAgents } from './host-agents.ts'
import { createHostNics } from './host-nics.ts'
import { createNetworkFunctions } from './network-functions.ts'
import { outsideAddressOf } from './outside-addresses.ts'
import { createPortStacks, forgetPortsOf } from './port-stacks.ts'
import { createReachability } from './reachability/trace.ts'
import { createStretches } from './stretches.ts'
import { createMirroring } from './traffic-mirrors.ts'
import { createVirtualRouting } from './virtual-routing.ts'
import { createVpnTunnels } from './vpn-tunnels.ts'
import type { Collection, SimulatedWorld } from './world.ts'

export const fabricFacts = (
  world: SimulatedWorld,
): {
  readonly subnets: Collection<SubnetProgram>
  readonly dhcp: Collection<DhcpService>
} & ReturnType<typeof bgpFacts> => ({
  subnets: world.collection('fabric.subnet'),
  dhcp: world.collection('fabric.dhcp'),
  ...bgpFacts(world),
})

export function createNetworkFabric(
  world: SimulatedWorld,
  settings: { readonly durations: 'instant' | 'natural'; readonly flows: Flows },
): NetworkFabric {
  const { subnets, dhcp } = fabricFacts(world)
  return {
    ...createVirtualRouting(world),
    ...createBgpPeers(world),
    ...createNetworkFunctions(world),
    ...createPortStacks(world),
    ...createStretches(world),
    ...createGateways(world, settings.durations === 'instant'),
    ...createHostNics(world),
    ...createBridges(world, settings.durations === 'instant'),
    ...bridgeViews(world),
    ...createVpnTunnels(world),
    ...createExporting(world),
    ...createFlowStatistics(settings.flows),
    ...createMirroring(world, settings.flows),
    async programSubnet(subnet) {
      if (isDeepStrictEqual(subnets.get(subnet.extId), subnet)) return
      requireAgents(world, subnet.hostExtIds, 'later')
      await subnets.put(subnet.extId, subnet)
    },
    async removeSubnet(subnetExtId) {
      await dhcp.remove(subnetExtId)
      await subnets.remove(subnetExtId)
      await forgetPortsOf(world, subnetExtId)
    },
    serveDhcp: async (service) => dhcp.put(service.subnetExtId, service),
    stopDhcp: async (subnetExtId) => dhcp.remove(subnetExtId),
    // Simulated guests get the address of their lease directly.
    announceAddresses: async () => undefined,
    outsideAddress: async (vlan, macAddress) => outsideAddressOf(vlan, macAddress),
    ...createReachability(world, settings.durations === 'instant'),
  }
}
