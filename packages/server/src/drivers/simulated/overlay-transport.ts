/** Source: behaviour networking.md 1.20, 3.4. */
import { DriverError } from '../../core/tasks/define-task.ts'
import type { OverlayProgram, OverlayTransport } from '../overlay-transport.ts'
import type { HardwareFault } from './hardware.ts'
import type { Collection, SimulatedWorld } from './world.ts'

/** By id of the cluster. */
export const overlayFacts = (world: SimulatedWorld): Collection<OverlayProgram> =>
  world.collection('fabric.overlay-transport')

/** @param requireUp throws DriverError when no controller answers */
export function createOverlayTransport(world: SimulatedWorld, requireUp: () => void): OverlayTransport {
  const facts = overlayFacts(world)
  const hosts = world.collection<HardwareFault>('hardware.faults')
  return {
    async carryOverlay(program) {
      requireUp()
      const silent = program.hostExtIds.find((extId) => hosts.get(extId)?.isAgentSilent === true)
      if (silent !== undefined)
        throw new DriverError(`the network agent of the host ${silent} does not answer within 30 s`, {
          retryable: true,
        })
      await facts.put(program.clusterExtId, program)
    },
    async carryOverlayByDefault(clusterExtId) {
      if (facts.get(clusterExtId) !== undefined) await facts.remove(clusterExtId)
    },
    overlayOf: async (clusterExtId) => facts.get(clusterExtId),
  }
}
