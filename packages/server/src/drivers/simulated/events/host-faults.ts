/** Faults of hosts and clusters, and the past downtimes of hosts. Source: behaviour clustermgmt.md 3. */
import { slownessNoted } from '../drive-history.ts'
import { downtimeFacts, type HardwareFault, type SlownessFact } from '../hardware.ts'
import type { Collection, SimulatedWorld } from '../world.ts'
import { faultOf, setFault } from './event.ts'

/** Per host, for statistics of the past. */
export const rememberedTimes = 200

export const hardware = 'hardware.faults'

export const hostFault = (world: SimulatedWorld, hostExtId: string) =>
  faultOf<HardwareFault>(world, hardware, hostExtId)
export async function setHostFault(
  world: SimulatedWorld,
  id: string,
  changes: { [K in keyof HardwareFault]?: HardwareFault[K] | undefined },
): Promise<void> {
  if ('isDown' in changes) await noteDowntime(world, id, changes.isDown === true)
  await setFault<HardwareFault>(world, hardware, id, changes)
}

/** @param factor 1 ends it */
export async function noteSlowness(
  facts: Collection<SlownessFact>,
  hostExtId: string,
  factor: number,
  now: number,
): Promise<void> {
  await facts.put(hostExtId, { times: slownessNoted(facts.get(hostExtId)?.times ?? [], factor, now) })
}

/** Keeps past downtimes: statistics must leave them out even after the host is back. */
async function noteDowntime(world: SimulatedWorld, hostExtId: string, isDown: boolean): Promise<void> {
  if (isDown === (hostFault(world, hostExtId).isDown === true)) return
  const { times } = downtimeFacts(world).get(hostExtId) ?? { times: [] }
  const now = world.clock.now()
  const next = isDown ? [...times, { from: now }] : times.map((time) => ({ ...time, to: time.to ?? now }))
  await downtimeFacts(world).put(hostExtId, { times: next.slice(-rememberedTimes) })
}
