/** Source: behaviour networking.md 1.4, 3.4. */
import type { SubnetProgram } from '../network-fabric.ts'
import type { PortProgram, PortStacks } from '../port-stacks.ts'
import { requireAgents } from './host-agents.ts'
import type { SimulatedWorld } from './world.ts'

/** By NIC id: ports that are not on the stack of their subnet. */
export const portFacts = (world: SimulatedWorld) => world.collection<PortProgram>('fabric.port')

export function createPortStacks(world: SimulatedWorld): PortStacks {
  const ports = portFacts(world)
  const subnets = world.collection<SubnetProgram>('fabric.subnet')
  const isAdvanced = ({ nicExtId, subnetExtId }: Pick<PortProgram, 'nicExtId' | 'subnetExtId'>): boolean =>
    ports.get(nicExtId)?.isAdvanced ?? subnets.get(subnetExtId)?.isAdvanced === true
  return {
    async movePort(port) {
      if (isAdvanced(port) === port.isAdvanced) return
      requireAgents(world, port.hostExtId === undefined ? [] : [port.hostExtId], 'later')
      if ((subnets.get(port.subnetExtId)?.isAdvanced === true) === port.isAdvanced) await ports.remove(port.nicExtId)
      else await ports.put(port.nicExtId, port)
    },
    async switchStack(subnetExtId, isAdvancedNow) {
      const subnet = subnets.get(subnetExtId)
      if (subnet === undefined) return
      const { isAdvanced: _, ...basic } = subnet
      await subnets.put(subnetExtId, isAdvancedNow ? { ...basic, isAdvanced: true } : basic)
      await forgetPortsOf(world, subnetExtId)
    },
  }
}

export async function forgetPortsOf(world: SimulatedWorld, subnetExtId: string): Promise<void> {
  const ports = portFacts(world)
  for (const [nicExtId, port] of ports.all()) if (port.subnetExtId === subnetExtId) await ports.remove(nicExtId)
}
