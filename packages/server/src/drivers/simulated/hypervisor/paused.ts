import type { SimulatedWorld } from '../world.ts'
import { type DomainFact, diskFacts, fullFacts, stallFacts } from './facts.ts'

/** The host pauses a guest whose storage has not answered for this long. */
export const stallSeconds = 30

/** The host pauses a domain while its storage stalls or is full. */
export function isPaused(world: SimulatedWorld, { state, domain }: Pick<DomainFact, 'domain' | 'state'>): boolean {
  const stalls = stallFacts(world)
  const full = fullFacts(world)
  if (state === 'OFF' || stalls.all().size + full.all().size === 0) return false
  const disks = diskFacts(world)
  return domain.diskExtIds.some((extId) => {
    const containerExtId = disks.get(extId)?.containerExtId ?? ''
    const stall = stalls.get(containerExtId)
    const isStalled = stall !== undefined && world.clock.now() - stall.since > 1000 * stallSeconds
    return isStalled || full.get(containerExtId) !== undefined
  })
}
