import type { pino } from 'pino'
import type { WorldClock } from '../core/time/clock.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { SimulatedWorld } from '../drivers/simulated/world.ts'

export interface ObservationOptions {
  readonly world: SimulatedWorld
  readonly clock: WorldClock
  readonly drivers: Drivers
  readonly isInstant: boolean
  readonly log: pino.Logger
}

/** Runs `work` once for all calls of `changed` in one turn of the event loop. A manually moved clock waits for it. */
export function coalesced(
  work: () => Promise<void>,
  clock: WorldClock,
  failed: (error: unknown) => void,
): { readonly changed: () => void; readonly idle: () => Promise<void> } {
  let isDue = false
  let last: Promise<void> = Promise.resolve()
  const run = async (): Promise<void> => {
    await new Promise(setImmediate)
    isDue = false
    await work().catch(failed)
  }
  return {
    changed() {
      if (isDue) return
      isDue = true
      last = clock.track(() => last.then(run))
    },
    idle: () => last,
  }
}
