/** The history of flows in the simulated network is kept whenever something changes that they depend on. */
import { createObserver } from '../drivers/simulated/flows/observer.ts'
import { coalesced, type ObservationOptions } from './coalesced.ts'

/** @returns the function that ends it, after the observation under way */
export function startFlowHistory({ world, clock, log }: ObservationOptions): () => Promise<void> {
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
