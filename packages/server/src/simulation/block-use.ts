/** Records the use of volume groups whenever one of its causes changes. */
import { createUseObserver, useCollections } from '../drivers/simulated/block-use.ts'
import { coalesced, type ObservationOptions } from './coalesced.ts'

/** @returns the function that ends it, after the observation under way */
export function startBlockUse({ world, clock, log }: ObservationOptions): () => Promise<void> {
  const { changed, idle } = coalesced(createUseObserver(world), clock, (error) =>
    log.error({ err: error }, 'the use of volume groups could not be recorded'),
  )
  const end = world.watch(useCollections, changed)
  changed()
  return () => {
    end()
    return idle()
  }
}
