/** Guests that crash, hang or halt. Source: behaviour vmm.md 1.1 (transitions by the world), 3.3, 3.8. */
import { type DomainFact, domainFacts, type GuestFault, haltGuest, restarted } from '../hypervisor/facts.ts'
import type { SimulatedWorld } from '../world.ts'
import { CannotHappen, type Target } from './event.ts'

/** @throws CannotHappen if the VM does not run */
function running(world: SimulatedWorld, vm: Target): DomainFact {
  const fact = domainFacts(world).get(vm.extId)
  if (fact?.state === 'ON') return fact
  throw new CannotHappen(`The VM "${vm.name}" does not run on any host: power it on first.`)
}

/** @throws CannotHappen if no host has the domain of the VM */
function onHost(world: SimulatedWorld, vm: Target): DomainFact {
  const fact = domainFacts(world).get(vm.extId)
  if (fact !== undefined) return fact
  throw new CannotHappen(`No host knows the VM "${vm.name}".`)
}

export async function crashGuest(world: SimulatedWorld, vm: Target): Promise<boolean> {
  const fact = running(world, vm)
  await domainFacts(world).put(vm.extId, restarted(world, fact))
  return true
}

/** The guest ignores its power button and its tools until it is reset. */
export async function hangGuest(world: SimulatedWorld, vm: Target): Promise<boolean> {
  const fact = running(world, vm)
  if (fact.hungSince !== undefined) return false
  await domainFacts(world).put(vm.extId, { ...fact, hungSince: world.clock.now() })
  return true
}

/** Lasts over reboots. */
export async function setGuestFault(world: SimulatedWorld, vm: Target, fault: GuestFault): Promise<boolean> {
  const fact = onHost(world, vm)
  const { guestFaults = [] } = fact
  if (guestFaults.includes(fault)) return false
  await domainFacts(world).put(vm.extId, { ...fact, guestFaults: [...guestFaults, fault] })
  return true
}

/** Lasts over reboots. */
export async function closePort(world: SimulatedWorld, vm: Target, port: number): Promise<boolean> {
  const fact = onHost(world, vm)
  const { closedPorts = [] } = fact
  if (closedPorts.includes(port)) return false
  await domainFacts(world).put(vm.extId, { ...fact, closedPorts: [...closedPorts, port] })
  return true
}

/** @param port default: all @returns the ports that were closed before */
export async function openPorts(world: SimulatedWorld, vm: Target, port?: number): Promise<readonly number[]> {
  const fact = domainFacts(world).get(vm.extId)
  const { closedPorts = [], ...rest } = fact ?? {}
  const opened = closedPorts.filter((closed) => port === undefined || closed === port)
  if (fact === undefined || opened.length === 0) return []
  const left = closedPorts.filter((closed) => !opened.includes(closed))
  await domainFacts(world).put(vm.extId, { ...(rest as typeof fact), ...(left.length > 0 && { closedPorts: left }) })
  return opened
}

/** Ends a hang and all faults of the guest. */
export async function recoverGuest(world: SimulatedWorld, vm: Target): Promise<boolean> {
  const fact = domainFacts(world).get(vm.extId)
  if (fact?.hungSince === undefined && fact?.guestFaults === undefined) return false
  const { hungSince: _, guestFaults: _faults, ...recovered } = fact
  await domainFacts(world).put(vm.extId, recovered)
  return true
}

export async function endGuest(world: SimulatedWorld, vm: Target): Promise<boolean> {
  running(world, vm)
  await haltGuest(world, vm.extId)
  return true
}
