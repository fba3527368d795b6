/** Gateways of the simulated world follow their stretches whenever something changes that the tunnels depend on. */
import type { pino } from 'pino'
import type { WorldClock } from '../core/time/clock.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { stretchCollections, stretchObservation } from '../drivers/simulated/stretches.ts'
import type { SimulatedWorld } from '../drivers/simulated/world.ts'
import { coalesced } from './coalesced.ts'

interface Options {
  readonly world: SimulatedWorld
  readonly clock: WorldClock
  readonly drivers: Drivers
  readonly log: pino.Logger
}

/** @returns the function that ends it, after the observation under way */
export function startStretchPaths({ world, clock, drivers, log }: Options): () => Promise<void> {
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
