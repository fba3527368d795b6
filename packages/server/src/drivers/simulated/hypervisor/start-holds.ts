/** Source: behaviour vmm.md 1.13 (restart of a whole cluster). */
import type { StartHolds } from '../../hypervisor.ts'
import type { SimulatedWorld } from '../world.ts'
import { holdFacts } from './facts.ts'

export function createStartHolds(world: SimulatedWorld): StartHolds {
  const holds = holdFacts(world)
  return {
    heldAtStart: () => new Set(holds.all().keys()),
    async holdAtStart(vmExtIds) {
      for (const extId of [...holds.all().keys()]) if (!vmExtIds.has(extId)) await holds.remove(extId)
      const added = [...vmExtIds].filter((extId) => holds.get(extId) === undefined)
      if (added.length > 0) await holds.putAll(new Map(added.map((extId) => [extId, {}])))
    },
  }
}
