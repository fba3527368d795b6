/** Lost uplinks, silent peers, other keys. Source: behaviour networking.md 1.10, 1.11, 1.20, 3.4; platform.md 6, 12. */
import { setPeerSilent } from '../bgp-peers.ts'
import { uplinksOf } from '../bridges.ts'
import { nicsOfHost } from '../host-nics.ts'
import { fabricFacts } from '../network-fabric.ts'
import type { RemoteFaultFact } from '../remote-managers.ts'
import { routingFacts } from '../virtual-routing.ts'
import { setTunnelFault, type TunnelFault, tunnelFacts } from '../vpn-state.ts'
import type { SimulatedWorld } from '../world.ts'
import { CannotHappen, setFact, setFlag, type Target } from './event.ts'
import { type LinkState, linksToChange, setLinks } from './host-links.ts'

const verbs = { lost: 'lost', sound: 'has again', flapping: 'has an unsteady link on' } as const

/** Changes the link of one NIC, or those of all uplinks. @throws CannotHappen for an unknown NIC */
export async function changeLinks(
  world: SimulatedWorld,
  host: Target,
  nic: string | undefined,
  state: LinkState,
): Promise<readonly string[]> {
  const uplinks = uplinksOf(world, host.extId)
  if (nic === undefined && uplinks.length === 0)
    throw new CannotHappen(`The host "${host.name}" has no uplink: it is in no virtual switch.`)
  const nics = nicsOfHost(world, host.extId).map(({ name }) => name)
  if (nic !== undefined && !nics.includes(nic))
    throw new CannotHappen(
      `The host "${host.name}" has no uplink "${nic}": expected one of ${nics.join(', ')}.`,
      'uplink',
    )
  const changed = linksToChange(world, host.extId, nic === undefined ? uplinks : [nic], state)
  if (changed.length === 0) return []
  const consequence = await setLinks(world, host.extId, changed, state)
  const verb = typeof state === 'object' ? verbs.flapping : verbs[state]
  return [
    `The host ${host.name} ${verb} ${changed.join(', ')}.`,
    ...(consequence === undefined ? [] : [`The host ${host.name} ${consequence}.`]),
  ]
}

/** @throws CannotHappen for a session without a peer in the fabric */
export async function setBgpPeerSilent(world: SimulatedWorld, session: Target, isSilent: boolean): Promise<boolean> {
  const { bgpPeers, bgpFaults } = fabricFacts(world)
  if (bgpPeers.get(session.extId) === undefined)
    throw new CannotHappen(`The gateway of the BGP session "${session.name}" does not hold it: it has no peer.`)
  if ((bgpFaults.get(session.extId)?.silentSince !== undefined) === isSilent) return false
  await setPeerSilent(world, session.extId, isSilent)
  return true
}

/** @throws CannotHappen for a connection without a tunnel in the fabric */
export async function setVpnPeerFault(
  world: SimulatedWorld,
  connection: Target,
  fault: keyof TunnelFault,
  isSo: boolean,
): Promise<boolean> {
  const { tunnels, tunnelFaults } = tunnelFacts(world)
  if (tunnels.get(connection.extId) === undefined)
    throw new CannotHappen(`The gateway of the VPN connection "${connection.name}" does not hold it: it has no tunnel.`)
  if ((tunnelFaults.get(connection.extId)?.[fault] !== undefined) === isSo) return false
  await setTunnelFault(world, connection.extId, fault, isSo)
  return true
}

export const setRemoteFault = (
  world: SimulatedWorld,
  extId: string,
  fault: keyof RemoteFaultFact,
  isSo: boolean,
): Promise<boolean> => setFlag<RemoteFaultFact>(world, 'remotes.faults', extId, fault, isSo)

/** `undefined` clears the fault. */
export const setControllerState = (
  world: SimulatedWorld,
  extId: string,
  state: 'DEGRADED' | 'DOWN' | undefined,
): Promise<boolean> => setFact(routingFacts(world).controllerFaults, extId, state && { state })
