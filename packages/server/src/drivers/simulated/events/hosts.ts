/** Hosts and clusters that fail, slow down and recover. Source: behaviour clustermgmt.md 3; vmm.md 3.2, 3.8. */
import type { ManagementFault } from '../external-hypervisor.ts'
import type { HardwareFault } from '../hardware-faults.ts'
import { backWithHost, type DomainFact, domainFacts } from '../hypervisor/facts.ts'
import { vcenterFacts } from '../management-extensions.ts'
import { noteSlowness } from '../past-times.ts'
import type { SimulatedWorld } from '../world.ts'
import { CannotHappen, setFlag } from './event.ts'
import { hardware, hostFault, setHostFault } from './host-faults.ts'

/** Power loss: the host does not answer, and its guests stop. */
export async function failHost(world: SimulatedWorld, hostExtId: string): Promise<boolean> {
  if (hostFault(world, hostExtId).hasLostPower === true) return false
  await setHostFault(world, hostExtId, { hasLostPower: true, isDown: true, since: world.clock.now() })
  return true
}

/** @returns the number of restarted guests, and of guests that wait for their start; undefined if the host had not failed */
export async function returnHost(
  world: SimulatedWorld,
  hostExtId: string,
): Promise<{ readonly restarted: number; readonly held: number } | undefined> {
  const { hasLostPower, isDown, isCutOff, since } = hostFault(world, hostExtId)
  if (hasLostPower !== true && (isDown !== true || isCutOff === true)) return undefined
  const now = world.clock.now()
  const domains = domainFacts(world)
  const started = new Map<string, DomainFact>()
  if (hasLostPower === true)
    for (const [extId, fact] of domains.all())
      if (fact.state === 'ON' && fact.hostExtId === hostExtId)
        started.set(extId, backWithHost(world, extId, fact, since ?? now))
  if (hasLostPower === true) await world.collection('hardware.boots').put(hostExtId, { at: now })
  if (started.size > 0) await domains.putAll(started)
  const stillSilent = isCutOff === true
  await setHostFault(world, hostExtId, {
    hasLostPower: undefined,
    isDown: stillSilent ? true : undefined,
    since: stillSilent ? now : undefined,
  })
  const held = [...started.values()].filter(({ heldSince }) => heldSince !== undefined).length
  return { restarted: started.size - held, held }
}

/** @param factor 1 is normal speed, 2 half of it */
export async function setSlowness(world: SimulatedWorld, hostExtId: string, factor: number): Promise<boolean> {
  const { slowdown = 1 } = hostFault(world, hostExtId)
  if (slowdown === factor) return false
  await noteSlowness(world, hostExtId, factor)
  await setHostFault(world, hostExtId, { slowdown: factor === 1 ? undefined : factor })
  return true
}

export const setHardwareFault = (
  world: SimulatedWorld,
  extId: string,
  fault: 'isAgentSilent' | 'isBmcSilent' | 'isDown',
  isSo: boolean,
): Promise<boolean> => setFlag<HardwareFault>(world, hardware, extId, fault, isSo)

/** Changes the password to an unknown one. @throws CannotHappen for a cluster without a vCenter */
export async function changeVcenterPassword(
  world: SimulatedWorld,
  cluster: { readonly extId: string; readonly name: string },
): Promise<boolean> {
  const fact = vcenterFacts(world).get(cluster.extId)
  if (fact === undefined) throw new CannotHappen(`The cluster "${cluster.name}" has no vCenter.`)
  await vcenterFacts(world).put(cluster.extId, { ...fact, passwordDigest: '' })
  return true
}

/** @throws CannotHappen for a cluster without external management */
export async function setManagementAway(
  world: SimulatedWorld,
  cluster: { readonly extId: string; readonly name: string },
  isAway: boolean,
): Promise<boolean> {
  if (world.collection('extern.clusters').get(cluster.extId) === undefined)
    throw new CannotHappen(`The cluster "${cluster.name}" has no external management: it runs the native hypervisor.`)
  return setFlag<ManagementFault>(world, 'extern.faults', cluster.extId, 'isAway', isAway)
}
