/** Wraps drivers so that fault rules apply to their calls. Calls between drivers are exempt. */
import type { Faults } from '../core/faults.ts'
import type { Drivers } from './drivers.ts'

type Call = (...given: unknown[]) => Promise<unknown>

/** @param callsOf names of calls by driver */
export function amidFaults(
  drivers: Drivers,
  callsOf: Readonly<Record<string, readonly string[]>>,
  faults: Faults,
): Drivers {
  const wrapped = Object.entries(drivers).map(([name, driver]) => {
    const wrappedCalls = new Map<string, Call>()
    for (const method of callsOf[name] ?? []) {
      const call: Call = driver[method]
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
