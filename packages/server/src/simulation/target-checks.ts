/** Load balancers of the simulated world check their targets whenever something changes that the targets depend on. */
import type { pino } from 'pino'
import type { WorldClock } from '../core/time/clock.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { targetChecks } from '../drivers/simulated/balancer-checks.ts'
import type { SimulatedWorld } from '../drivers/simulated/world.ts'

interface Options {
  readonly world: SimulatedWorld
  readonly clock: WorldClock
  readonly drivers: Drivers
  readonly isInstant: boolean
  readonly log: pino.Logger
}

/** @returns the function that stops them, after the check under way */
export function startTargetChecks({ world, clock, drivers, isInstant, log }: Options): () => Promise<void> {
  const check = targetChecks(world, isInstant)
  let isDue = false
  let last: Promise<void> = Promise.resolve()
  const run = async (): Promise<void> => {
    // All changes of one turn of the event loop are judged together.
    await new Promise(setImmediate)
    isDue = false
    await check().catch((error: unknown) => log.error({ err: error }, 'the checks of load balancers failed'))
  }
  const changed = (): void => {
    if (isDue) return
    isDue = true
    last = clock.track(() => last.then(run))
  }
  const ends = [
    drivers.hypervisor.watch(changed),
    drivers.hardware.watch(changed),
    world.watch(['fabric.balancer', 'fabric.subnet'], changed),
  ]
  changed()
  return () => {
    for (const end of ends) end()
    return last
  }
}
