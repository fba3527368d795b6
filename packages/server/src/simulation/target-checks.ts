/** Load balancers of the simulated world check their targets whenever something changes that the targets depend on. */
import type { pino } from 'pino'
import type { WorldClock } from '../core/time/clock.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { targetChecks } from '../drivers/simulated/balancer-checks.ts'
import type { SimulatedWorld } from '../drivers/simulated/world.ts'
import { coalesced } from './coalesced.ts'

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
  const { changed, idle } = coalesced(check, clock, (error) =>
    log.error({ err: error }, 'the checks of load balancers failed'),
  )
  const ends = [
    drivers.hypervisor.watch(changed),
    drivers.hardware.watch(changed),
    world.watch(['fabric.balancer', 'fabric.subnet'], changed),
  ]
  changed()
  return () => {
    for (const end of ends) end()
    return idle()
  }
}
