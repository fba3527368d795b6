/** Wraps drivers so that fault rules apply to their calls. Calls between drivers are exempt. */
import type { Faults } from '../core/faults.ts'
import { driverCalls } from './calls.ts'
import type { Drivers } from './drivers.ts'

type Call = (...given: unknown[]) => Promise<unknown>

export function amidFaults(drivers: Drivers, faults: Faults): Drivers {
  const wrapped = Object.entries(driverCalls).map(([name, calls]) => {
    const driver = drivers[name as keyof Drivers]
    const wrappedCalls = new Map<string, Call>()
    for (const method of calls) {
      // `unknown`: `driverCalls` lists the methods that each driver has.
      const call = (driver as unknown as Record<string, Call>)[method] as Call
      wrappedCalls.set(method, (...given) => {
        const work = (): Promise<unknown> => call.apply(driver, given)
        const fault = faults.ofCall(name, method)
        return fault === undefined ? work() : fault.around(undefined, work)
      })
    }
    const answering = new Proxy(driver, {
      get: (_, method) => wrappedCalls.get(method as string) ?? Reflect.get(driver, method),
    })
    return [name, answering]
  })
  return Object.fromEntries(wrapped)
}
