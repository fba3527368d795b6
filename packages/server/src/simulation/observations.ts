/** Records the past of the simulated world: health of targets, flows, paths of stretches, use of volume groups. */
import { startBlockUse } from './block-use.ts'
import type { ObservationOptions } from './coalesced.ts'
import { startFlowHistory } from './flow-history.ts'
import { startStretchPaths } from './stretch-paths.ts'
import { startTargetChecks } from './target-checks.ts'

export function startObservations(options: ObservationOptions): () => Promise<void> {
  const ends = [
    startTargetChecks(options),
    startFlowHistory(options),
    startStretchPaths(options),
    startBlockUse(options),
  ]
  return async () => {
    for (const end of ends) await end()
  }
}
