import { realClock } from '../../core/time/clock.ts'
import { createSimulatedDrivers } from './index.ts'
import { simulatedWorld } from './world.ts'

const AsyncFunction = (async () => undefined).constructor

/** Own methods, and those of a class. */
export function* methodsOf(driver: object): Generator<string> {
  for (let at = driver; at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (typeof value === 'function' && name !== 'constructor') yield name
}

// Drivers write their world only in calls.
const emptyWorld = simulatedWorld([], {} as never, realClock, '')
export const driversOfEmptyWorld = createSimulatedDrivers(emptyWorld, { folder: '', durations: 'instant' })

/** The calls that fault rules can name: every `async` method of a driver. */
export const driverCalls: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries<any>(driversOfEmptyWorld)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, driver]) => [
      name,
      [...methodsOf(driver)].filter((method) => driver[method] instanceof AsyncFunction).sort(),
    ]),
)
