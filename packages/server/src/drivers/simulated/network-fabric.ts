/** The simulated network. Source: behaviour networking.md 3.1, 3.2. */

import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { DhcpService, NetworkFabric, SubnetProgram } from '../network-fabric.ts'
import { bgpFacts, createBgpPeers } from './bgp-peers.ts'
import { createBridges } from './bridges.ts'
import { createGateways } from './gateways.ts'
import type { HardwareFault } from './hardware.ts'
import { createHostNics } from './host-nics.ts'
import { createNetworkFunctions } from './network-functions.ts'
import { createPortStacks, forgetPortsOf } from './port-stacks.ts'
import { createVirtualRouting } from './virtual-routing.ts'
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
  settings: { readonly durations: 'instant' | 'natural' },
): NetworkFabric {
  const { subnets, dhcp } = fabricFacts(world)
  const hosts = world.collection<HardwareFault>('hardware.faults')
  return {
    ...createVirtualRouting(world),
    ...createBgpPeers(world),
    ...createNetworkFunctions(world),
    ...createPortStacks(world),
    ...createGateways(world, settings.durations === 'instant'),
    ...createHostNics(world),
    ...createBridges(world),
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
      await forgetPortsOf(world, subnetExtId)
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
  }
}

const digest = (text: string): Buffer => createHash('sha1').update(text).digest()
