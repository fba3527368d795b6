/** Disks whose content is in an external repository. Source: behaviour vmm.md 1.2. */
import type { Hydration } from '../../hypervisor.ts'
import { type ServerState, slowBytesPerSecond } from '../content/urls.ts'
import type { SimulatedWorld } from '../world.ts'
import { type DiskFact, diskFacts, type HydrationFact } from './facts.ts'

const bytesPerSecond = { away: 0, slow: slowBytesPerSecond, well: 100e6 } as const satisfies Record<ServerState, number>

function remainingAt({ isEnabled, server, remainingBytes, since }: HydrationFact, now: number): number {
  const copied = isEnabled ? (bytesPerSecond[server] * (now - since)) / 1000 : 0
  return Math.max(0, Math.ceil(remainingBytes - copied))
}

/** Undefined: nothing is left to copy. */
export function hydrationOf({ hydration }: DiskFact, now: number): Hydration | undefined {
  const remainingBytes = hydration === undefined ? 0 : remainingAt(hydration, now)
  if (hydration === undefined || remainingBytes === 0) return undefined
  const status = !hydration.isEnabled ? 'DISABLED' : hydration.server === 'away' ? 'FAILED' : 'IN_PROGRESS'
  return { status, remainingBytes }
}

/** The progress until now counts with the former rate. */
export async function changeHydration(
  world: SimulatedWorld,
  diskExtId: string,
  changes: Partial<Pick<HydrationFact, 'isEnabled' | 'server'>>,
): Promise<void> {
  const fact = diskFacts(world).get(diskExtId)
  if (fact?.hydration === undefined) return
  const since = world.clock.now()
  const hydration = { ...fact.hydration, remainingBytes: remainingAt(fact.hydration, since), since, ...changes }
  await diskFacts(world).put(diskExtId, { ...fact, hydration })
}

export async function setRepositoryState(
  world: SimulatedWorld,
  repository: string,
  server: ServerState,
): Promise<void> {
  for (const [extId, { hydration }] of [...diskFacts(world).all()])
    if (hydration?.repository === repository) await changeHydration(world, extId, { server })
}
