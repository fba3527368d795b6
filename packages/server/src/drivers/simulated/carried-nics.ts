/** Which NICs of guests an uplink of their host carries. Source: behaviour networking.md 1.16, 1.18, 1.20. */
import type { NicOfHost } from '../host-networking.ts'
import type { SubnetProgram } from '../network-fabric.ts'
import { activeUplinks, bridgesOfHost, managementBridge } from './bridges.ts'
import { nicsOfHost } from './host-nics.ts'
import { domainFacts } from './hypervisor/facts.ts'
import { keyOf } from './noise.ts'
import { overlayFacts } from './overlay-transport.ts'
import type { SimulatedWorld } from './world.ts'

/** None for a NIC that is in no bridge, or a passive one. A bond balances by NIC of the guest. */
export function carriedNics(world: SimulatedWorld, { hostExtId, name }: NicOfHost): readonly string[] {
  const bridge = bridgesOfHost(world, hostExtId).find(({ uplinks }) => uplinks.includes(name))
  if (bridge === undefined) return []
  const active = activeUplinks(bridge, nicsOfHost(world, hostExtId))
  const position = active.indexOf(name)
  if (position < 0) return []
  const subnets = world.collection<SubnetProgram>('fabric.subnet')
  const overlay = [...overlayFacts(world).all().values()].find(({ hostExtIds }) => hostExtIds.includes(hostExtId))
  const carriesOverlay = overlay
    ? overlay.virtualSwitchExtId === bridge.virtualSwitchExtId
    : bridge.name === managementBridge
  const isCarried = (subnetExtId: string | undefined): boolean => {
    const subnet = subnets.get(subnetExtId ?? '')
    if (subnet?.type === 'OVERLAY') return carriesOverlay
    return subnet !== undefined && subnet.virtualSwitchExtId === bridge.virtualSwitchExtId
  }
  const guests = [...domainFacts(world).all().values()].filter(
    (guest) => guest.state === 'ON' && guest.hostExtId === hostExtId,
  )
  return guests
    .flatMap(({ domain }) => domain.nics)
    .filter(({ isConnected, subnetExtId }) => isConnected && isCarried(subnetExtId))
    .filter(({ macAddress }) => (keyOf(macAddress) >>> 0) % active.length === position)
    .map(({ extId }) => extId)
    .sort()
}
