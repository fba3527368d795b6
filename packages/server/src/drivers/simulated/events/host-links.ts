/** Links of a host's NICs. Source: behaviour networking.md 3.4. */
import { managementUplinksOf } from '../bridges.ts'
import type { SimulatedWorld } from '../world.ts'
import { hostFault, setHostFault } from './host-faults.ts'

export type LinkState = 'lost' | 'sound' | { readonly periodSeconds: number }

/** @returns the names of links that are not in this state yet */
export function linksToChange(
  world: SimulatedWorld,
  hostExtId: string,
  names: readonly string[],
  state: LinkState,
): readonly string[] {
  const { lostUplinks = [], flaps = {} } = hostFault(world, hostExtId)
  return names.filter((name) => {
    if (state === 'lost') return !lostUplinks.includes(name)
    if (state === 'sound') return lostUplinks.includes(name) || flaps[name] !== undefined
    return flaps[name]?.periodSeconds !== state.periodSeconds
  })
}

/** @returns the consequence for the host, if any */
export async function setLinks(
  world: SimulatedWorld,
  hostExtId: string,
  names: readonly string[],
  state: LinkState,
): Promise<'answers again' | 'is silent' | undefined> {
  const { lostUplinks = [], flaps = {} } = hostFault(world, hostExtId)
  const others = lostUplinks.filter((name) => !names.includes(name))
  const lost = state === 'lost' ? [...others, ...names] : others
  const steady = Object.entries(flaps).filter(([name]) => !names.includes(name))
  const since = world.clock.now()
  const unsteady = typeof state === 'object' ? names.map((name) => [name, { ...state, since }] as const) : []
  const flapping = [...steady, ...unsteady]
  await setHostFault(world, hostExtId, {
    lostUplinks: lost.length === 0 ? undefined : [...lost].sort(),
    flaps: flapping.length === 0 ? undefined : Object.fromEntries(flapping),
  })
  return noteReach(world, hostExtId)
}

/** A flapping link is back before its host counts as silent. @returns the consequence for the host, if any */
export async function noteReach(
  world: SimulatedWorld,
  hostExtId: string,
): Promise<'answers again' | 'is silent' | undefined> {
  const fault = hostFault(world, hostExtId)
  const management = managementUplinksOf(world, hostExtId)
  const isCutOff = management.length > 0 && management.every((name) => fault.lostUplinks?.includes(name))
  const isDown = isCutOff || fault.hasLostPower === true
  if (isCutOff === (fault.isCutOff === true) && isDown === (fault.isDown === true)) return undefined
  await setHostFault(world, hostExtId, {
    isCutOff: isCutOff ? true : undefined,
    isDown: isDown ? true : undefined,
    since: isDown ? (fault.since ?? world.clock.now()) : undefined,
  })
  if (isDown === (fault.isDown === true)) return undefined
  return isDown ? 'is silent' : 'answers again'
}
