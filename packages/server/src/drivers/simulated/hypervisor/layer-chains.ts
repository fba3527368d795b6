/** Chains of layers: removal of unused layers, and a limit of their depth. Source: behaviour vmm.md 3.4. */
import type { Clock } from '../../../core/time/clock.ts'
import type { Collection } from '../world.ts'
import type { DiskFact } from './facts.ts'
import { chainOf, merged, standalone } from './layers.ts'

const maximumDepth = 64

export interface LayerChains {
  /** Removes a deleted layer with none over it, merges it into a single one over it, and continues with the layer below. */
  collapse(layerExtId: string | undefined): Promise<void>
  /** Completes calls that a crash interrupted between two layers. */
  collapseAll(): Promise<void>
  /** Call it before adding a layer: in a chain of 64, a layer in the middle gets a copy of the layers below it. */
  shorten(diskExtId: string): Promise<void>
}

export function createLayerChains(disks: Collection<DiskFact>, clock: Clock): LayerChains {
  async function collapse(layerExtId: string | undefined): Promise<void> {
    for (let extId = layerExtId; extId !== undefined; ) {
      const fact = disks.get(extId)
      const [upper, ...others] = fact?.isHidden === true ? layersOver(disks, extId) : []
      if (fact?.isHidden !== true || others.length > 0) return
      if (upper !== undefined) await disks.put(upper[0], merged(upper[1], fact, clock.now()))
      await disks.remove(extId)
      extId = fact.parentExtId
    }
  }
  return {
    collapse,
    async collapseAll() {
      const over = Map.groupBy(disks.all().values(), ({ parentExtId }) => parentExtId)
      const done = [...disks.all()].filter(([extId, { isHidden }]) => isHidden && (over.get(extId)?.length ?? 0) < 2)
      for (const [extId] of done) await collapse(extId)
    },
    async shorten(diskExtId) {
      const chain = chainOf(disks, diskExtId)
      const middle = chain.length < maximumDepth ? undefined : chain[maximumDepth / 2]
      if (middle === undefined) return
      const [extId, fact] = middle
      await disks.put(extId, standalone(disks, fact, clock.now()))
      await collapse(fact.parentExtId)
    },
  }
}

/** At most two, which is enough for callers. */
function layersOver(disks: Collection<DiskFact>, extId: string): readonly (readonly [string, DiskFact])[] {
  const found: (readonly [string, DiskFact])[] = []
  for (const entry of disks.all()) {
    if (entry[1].parentExtId === extId) found.push(entry)
    if (found.length === 2) break
  }
  return found
}
