/** The history of flows in the simulated network is kept whenever something changes that they depend on. */
import type { pino } from 'pino'
import type { WorldClock } from '../core/time/clock.ts'
import { createObserver } from '../drivers/simulated/flows/observer.ts'
import type { SimulatedWorld } from '../drivers/simulated/world.ts'
import { coalesced } from './coalesced.ts'

interface Options {
  readonly world: SimulatedWorld
  readonly clock: WorldClock
  readonly log: pino.Logger
}

/** @returns the function that ends it, after the observation under way */
export function startFlowHistory({ world, clock, log }: Options): () => Promise<void> {
  const { changed, idle } = coalesced(
    () => observer.observe(),
    clock,
    (error) => log.error({ err: error }, 'the history of flows could not be kept'),
  )
  const observer = createObserver(world, changed)
  changed()
  return () => {
    observer.end()
    return idle()
  }
}
