/** What the simulated world remembers of its past: health of targets, flows, paths of stretches. */
import type { pino } from 'pino'
import type { WorldClock } from '../core/time/clock.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { SimulatedWorld } from '../drivers/simulated/world.ts'
import { startFlowHistory } from './flow-history.ts'
import { startStretchPaths } from './stretch-paths.ts'
import { startTargetChecks } from './target-checks.ts'

interface Options {
  readonly world: SimulatedWorld
  readonly clock: WorldClock
  readonly drivers: Drivers
  readonly isInstant: boolean
  readonly log: pino.Logger
}

/** @returns the function that ends them, after those under way */
export function startObservations(options: Options): () => Promise<void> {
  const ends = [startTargetChecks(options), startFlowHistory(options), startStretchPaths(options)]
  return async () => {
    for (const end of ends) await end()
  }
}
