/** Faults of hosts and clusters, and the past downtimes of hosts. Source: behaviour clustermgmt.md 3. */
import type { HardwareFault } from '../hardware-faults.ts'
import { noteDowntime } from '../past-times.ts'
import type { SimulatedWorld } from '../world.ts'
import { setFault, simulatedFault } from './event.ts'

export const hardware = 'hardware.faults'

export const hostFault = (world: SimulatedWorld, hostExtId: string) =>
  simulatedFault<HardwareFault>(world, hardware, hostExtId)
export async function setHostFault(
  world: SimulatedWorld,
  id: string,
  changes: { [K in keyof HardwareFault]?: HardwareFault[K] | undefined },
): Promise<void> {
  if ('isDown' in changes) await noteDowntime(world, id, changes.isDown === true)
  await setFault<HardwareFault>(world, hardware, id, changes)
}
