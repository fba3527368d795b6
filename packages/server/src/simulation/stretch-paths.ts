/** Gateways of the simulated world follow their stretches whenever something changes that the tunnels depend on. */
import { stretchCollections, stretchObservation } from '../drivers/simulated/stretches.ts'
import { coalesced, type ObservationOptions } from './coalesced.ts'

/** @returns the function that ends it, after the observation under way */
export function startStretchPaths({ world, clock, drivers, log }: ObservationOptions): () => Promise<void> {
  const { changed, idle } = coalesced(stretchObservation(world), clock, (error) =>
    log.error({ err: error }, 'the paths of layer-2 stretches could not be observed'),
  )
  const ends = [
    drivers.hypervisor.watch(changed),
    drivers.hardware.watch(changed),
    drivers.remoteManagers.watch(changed),
    world.watch(stretchCollections, changed),
  ]
  changed()
  return () => {
    for (const end of ends) end()
    return idle()
  }
}
