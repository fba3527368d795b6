/**
 * Load balancers of the simulated world check their targets, and gateways the paths of their stretches, whenever something
 * changes that these depend on.
 */
import type { pino } from 'pino'
import type { WorldClock } from '../core/time/clock.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { targetChecks } from '../drivers/simulated/balancer-checks.ts'
import { stretchObservation } from '../drivers/simulated/stretches.ts'
import type { SimulatedWorld } from '../drivers/simulated/world.ts'

interface Options {
  readonly world: SimulatedWorld
  readonly clock: WorldClock
  readonly drivers: Drivers
  readonly isInstant: boolean
  readonly log: pino.Logger
}

/** @returns the function that stops them, after those under way */
export function startObservations({ world, clock, drivers, isInstant, log }: Options): () => Promise<void> {
  const observations = [targetChecks(world, isInstant), stretchObservation(world)]
  let isDue = false
  let last: Promise<void> = Promise.resolve()
  const run = async (): Promise<void> => {
    // All changes of one turn of the event loop are judged together.
    await new Promise(setImmediate)
    isDue = false
    for (const observe of observations)
      await observe().catch((error: unknown) =>
        log.error({ err: error }, 'an observation of the simulated network failed'),
      )
  }
  const changed = (): void => {
    if (isDue) return
    isDue = true
    last = clock.track(() => last.then(run))
  }
  const ends = [
    drivers.hypervisor.watch(changed),
    drivers.hardware.watch(changed),
    world.watch(
      ['fabric.balancer', 'fabric.gateway', 'fabric.gateway-agent', 'fabric.stretch', 'fabric.subnet'],
      changed,
    ),
    drivers.remoteManagers.watch(changed),
  ]
  changed()
  return () => {
    for (const end of ends) end()
    return last
  }
}
