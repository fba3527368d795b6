/** Source: behaviour networking.md 1.20, 3.4. */
import type { OverlayProgram, OverlayTransport } from '../overlay-transport.ts'
import { requireAgents } from './host-agents.ts'
import type { SimulatedWorld } from './world.ts'

export const overlayFacts = (world: SimulatedWorld) => world.collection<OverlayProgram>('fabric.overlay-transport')

/** @param requireUp throws DriverError when no controller answers */
export function createOverlayTransport(world: SimulatedWorld, requireUp: () => void): OverlayTransport {
  const facts = overlayFacts(world)
  return {
    async carryOverlay(program) {
      requireUp()
      requireAgents(world, program.hostExtIds, 'later')
      await facts.put(program.clusterExtId, program)
    },
    async carryOverlayByDefault(clusterExtId) {
      if (facts.get(clusterExtId) !== undefined) await facts.remove(clusterExtId)
    },
    overlayOf: async (clusterExtId) => facts.get(clusterExtId),
  }
}
