/** Steps of a traced packet on a subnet, and outside of the deployment. */
import { formatAddress, parseHost } from '../../../core/ip-address.ts'
import type { SubnetProgram } from '../../network-fabric.ts'
import { healthyPeriods, isOpen, isSameTarget } from '../balancer-health.ts'
import { type BalancerFact, balancerFacts } from '../balancers.ts'
import { bridgesOfHost } from '../bridges.ts'
import { routerFacts } from '../router-facts.ts'
import { surroundingsOf } from '../router-surroundings.ts'
import { isPassing } from '../stretch-path.ts'
import { stretchFacts } from '../stretches.ts'
import { routingFacts } from '../virtual-routing.ts'
import { addressesOn, gatewayAt, has, isOnLink, isSame, isWithin, type Port, subnetAt, vpcOfRouterAt } from './ports.ts'
import { redirect } from './redirect.ts'
import { judge } from './router.ts'
import { delivered, dropped, notRoutable, type Place, type Step, type Walk } from './walk.ts'

type OnSubnet = Extract<Place, { at: 'subnet' }>

export function crossSubnet(walk: Walk, { subnetExtId, via, isSentHere = false }: OnSubnet): Step {
  const { world, destination } = walk
  const subnet = subnetAt(world, subnetExtId)
  if (subnet === undefined) return dropped('the subnet is not programmed on the hosts')
  const kind = subnet.type === 'VLAN' ? `VLAN ${subnet.tag}` : `overlay segment ${subnet.tag}`
  const note = (decision: string): void =>
    walk.note('SUBNET', { kind: 'Subnet', extId: subnetExtId }, `${kind}: ${decision}`)
  const neighbour = via ?? destination
  const known = walk.ports.find((port) => port.subnetExtId === subnetExtId && has(port.addresses, neighbour))
  const fault = linkFault(walk, subnet, known)
  if (fault !== undefined) {
    note('the packet does not pass from host to host')
    return dropped(fault)
  }
  const redirected = redirect(walk, portsToRedirect(walk, subnetExtId, known))
  if (redirected !== undefined) return redirected
  if (via !== undefined || known !== undefined || isOnLink(world, subnetExtId, destination)) {
    note(`hands the packet to ${formatAddress(neighbour)}`)
    const denial = isSentHere && subnet.vpcExtId !== undefined ? judge(walk, subnet.vpcExtId) : undefined
    if (denial !== undefined) return dropped(denial)
    return handTo(walk, { at: 'subnet', subnetExtId, ...(via && { via }) }, known)
  }
  const { gateways = [], prefixes = [] } = addressesOn(world, subnetExtId) ?? {}
  const gateway = gateways.find((text) => parseHost(text)?.family === destination.family)
  if (gateway === undefined && prefixes.length > 0) {
    note('has no default gateway')
    return notRoutable(`${formatAddress(destination)} is not on the subnet, which has no default gateway`)
  }
  note(
    `hands the packet to ${gateway === undefined ? 'the gateway of the physical network' : `its gateway ${gateway}`}`,
  )
  return subnet.vpcExtId === undefined ? { at: 'outside' } : { at: 'router', vpcExtId: subnet.vpcExtId }
}

/** The NIC that sends the packet, and the one that gets it, as far as they are on the subnet. */
const portsToRedirect = ({ packet, ports }: Walk, subnetExtId: string, to: Port | undefined): readonly Port[] => [
  ...ports.filter((port) => port.subnetExtId === subnetExtId && port.nicExtId === packet.source.nicExtId),
  ...(to === undefined ? [] : [to]),
]

/** Why a VLAN does not carry the packet from host to host, or out of its host. */
function linkFault({ world, ports, packet }: Walk, subnet: SubnetProgram, to: Port | undefined): string | undefined {
  if (subnet.type !== 'VLAN' || subnet.virtualSwitchExtId === undefined) return undefined
  const from = ports.find(
    ({ nicExtId, subnetExtId }) => nicExtId === packet.source.nicExtId && subnetExtId === subnet.extId,
  )
  const hosts = [from, to].flatMap((port) => port?.guest.hostExtId ?? [])
  // Guests on one host meet in its bridge.
  if (from !== undefined && to !== undefined && hosts[0] === hosts[1]) return undefined
  for (const host of hosts) {
    const bridge = bridgesOfHost(world, host).find((each) => each.virtualSwitchExtId === subnet.virtualSwitchExtId)
    if (bridge?.speedMbps === 0) return `no uplink of ${bridge.name} has a link on the host ${host}`
  }
  return undefined
}

function handTo(walk: Walk, { subnetExtId, via }: OnSubnet, port: Port | undefined): Step {
  const { world, destination } = walk
  const neighbour = via ?? destination
  if (port !== undefined) return via === undefined ? arrive(walk, port) : pass(walk, port)
  const floatingIp = [...routingFacts(world).floatingIps.all().values()].find(
    (each) => each.externalSubnetExtId === subnetExtId && isSame(each.address, neighbour),
  )
  if (floatingIp !== undefined) {
    walk.destination = parseHost(floatingIp.privateAddress) ?? destination
    const entity = { kind: 'FloatingIp', extId: floatingIp.extId }
    walk.note('FLOATING_IP', entity, `translates the destination to ${floatingIp.privateAddress}`)
    const isLive = surroundingsOf(world, floatingIp.vpcExtId).ports.some(
      (each) => each.subnetExtId === subnetExtId && each.isLive,
    )
    return isLive ? { at: 'router', vpcExtId: floatingIp.vpcExtId } : dropped('no gateway host of the VPC is up')
  }
  const balancer = [...balancerFacts(world).balancers.all().values()].find(
    (each) => each.subnetExtId === subnetExtId && isSame(each.address, neighbour),
  )
  if (balancer !== undefined) return balance(walk, balancer)
  const vpcExtId = vpcOfRouterAt(world, subnetExtId, neighbour)
  if (vpcExtId !== undefined)
    return via === undefined ? answer(walk, 'the router of the VPC') : { at: 'router', vpcExtId }
  if (has(addressesOn(world, subnetExtId)?.gateways ?? [], neighbour)) {
    const { vpcExtId: own } = subnetAt(world, subnetExtId)!
    if (via === undefined) return answer(walk, 'the gateway of the subnet')
    return own === undefined ? { at: 'outside' } : { at: 'router', vpcExtId: own }
  }
  if (gatewayAt(world, neighbour) !== undefined) return delivered('a gateway appliance has the address')
  if (via !== undefined) return { at: 'outside' }
  return stretched(walk, subnetExtId) ?? dropped(`no port of the subnet has the address ${formatAddress(neighbour)}`)
}

/** @returns undefined when the subnet has no layer-2 stretch */
function stretched(walk: Walk, subnetExtId: string): Step | undefined {
  const { stretches, paths } = stretchFacts(walk.world)
  const stretch = [...stretches.all().values()].find((each) => each.subnetExtId === subnetExtId)
  if (stretch === undefined) return undefined
  const isUp = isPassing(paths.get(stretch.extId) ?? { passing: [] }, walk.world.clock.now())
  const entity = { kind: 'Layer2Stretch', extId: stretch.extId }
  walk.note('TUNNEL', entity, isUp ? 'carries the frame to the remote site' : 'is down')
  if (!isUp) return dropped('no port of the subnet has the address here, and its layer-2 stretch is down')
  return delivered('the packet crosses the layer-2 stretch to the remote site, which is not part of this world')
}

function arrive(walk: Walk, port: Port): Step {
  const { protocol, destination: wanted } = walk.packet
  const { name } = port.guest.domain
  const silence = walk.silence(port, protocol === 'TCP' ? walk.destinationPort : undefined)
  const entity = { kind: 'Nic', extId: port.nicExtId }
  walk.note('NIC', entity, silence === undefined ? `is a NIC of the VM ${name}` : 'does not take the packet')
  if (silence !== undefined) return dropped(silence)
  const isOther = wanted.nicExtId !== undefined && wanted.nicExtId !== port.nicExtId
  const wasBalanced = walk.hops.some(({ type }) => type === 'LOAD_BALANCER')
  if (isOther && !wasBalanced)
    return dropped(`another NIC, of the VM ${name}, has this address where the packet arrives`)
  return delivered(`the VM ${name} gets the packet`)
}

/** To a guest that is the nexthop of a route. */
function pass(walk: Walk, port: Port): Step {
  const { name } = port.guest.domain
  const silence = walk.silence(port)
  walk.note('NIC', { kind: 'Nic', extId: port.nicExtId }, `belongs to the VM ${name}, the nexthop of the route`)
  return silence === undefined
    ? delivered(`the VM ${name} is the nexthop and forwards the packet by itself`)
    : dropped(silence)
}

function answer(walk: Walk, who: string): Step {
  if (walk.packet.protocol === 'ICMP') return delivered(`${who} answers by itself`)
  return dropped(`${who} has the address, and no service there listens`)
}

function balance(walk: Walk, balancer: BalancerFact): Step {
  const { world, packet, destinationPort = 0 } = walk
  const entity = { kind: 'LoadBalancerSession', extId: balancer.extId }
  const isListening =
    balancer.protocol === packet.protocol &&
    balancer.portRanges.some(({ startPort, endPort }) => startPort <= destinationPort && destinationPort <= endPort)
  if (!isListening) {
    walk.note('LOAD_BALANCER', entity, 'does not take the packet')
    const what = packet.protocol === 'ICMP' ? 'answer ICMP' : `listen on ${packet.protocol} port ${destinationPort}`
    return dropped(`the load balancer does not ${what}`)
  }
  const { check, targets = [] } = balancerFacts(world).health.get(balancer.extId) ?? {}
  const healthy = balancer.targets.filter((target) => {
    const history = targets.findLast((each) => isSameTarget(each, target))
    return (
      history !== undefined && history.until === undefined && isOpen(healthyPeriods(history, check, world.clock.now()))
    )
  })
  const chosen = walk.oneOf(healthy, packet.sourcePort, destinationPort)
  const port = walk.portOf(chosen?.nicExtId)
  if (chosen === undefined || port === undefined) {
    walk.note('LOAD_BALANCER', entity, `has no healthy target among ${balancer.targets.length}`)
    return dropped('the load balancer has no healthy target')
  }
  walk.destination = parseHost(port.addresses[0] ?? '') ?? walk.destination
  walk.destinationPort = chosen.port
  walk.note(
    'LOAD_BALANCER',
    entity,
    `chooses port ${chosen.port} of the VM ${port.guest.domain.name}, one of ${healthy.length} healthy targets`,
  )
  return { at: 'subnet', subnetExtId: port.subnetExtId }
}

/** The physical network routes between VLANs, and to the externally routable prefixes of VPCs. */
export function crossOutside(walk: Walk): Step {
  const { world, destination } = walk
  const text = formatAddress(destination)
  const subnets = [...world.collection<{ extId: string; type: string }>('fabric.subnet').all().values()]
  const vlan = subnets.find(({ extId, type }) => type === 'VLAN' && isOnLink(world, extId, destination))
  const port = walk.ports.find((each) => has(each.addresses, destination))
  const subnetExtId =
    vlan?.extId ?? (port && subnetAt(world, port.subnetExtId)?.type === 'VLAN' ? port.subnetExtId : undefined)
  if (subnetExtId !== undefined) {
    walk.note('EXTERNAL_NETWORK', undefined, `routes ${text} to its VLAN`)
    return { at: 'subnet', subnetExtId }
  }
  const routed = [...routerFacts(world).all().values()].find(
    ({ program }) =>
      isWithin(program.externallyRoutablePrefixes, destination) &&
      surroundingsOf(world, program.vpcExtId).ports.some(({ isTranslated, isLive }) => !isTranslated && isLive),
  )
  if (routed !== undefined) {
    walk.note('EXTERNAL_NETWORK', undefined, `routes ${text} to a VPC, by its externally routable prefix`)
    return { at: 'router', vpcExtId: routed.program.vpcExtId }
  }
  if (walk.packet.destination.nicExtId !== undefined) {
    walk.note('EXTERNAL_NETWORK', undefined, `knows no way to ${text}`)
    const floatingIp = [...routingFacts(world).floatingIps.all().values()].find((each) =>
      isSame(each.privateAddress, destination),
    )
    const advice =
      floatingIp === undefined ? 'Give the NIC a floating IP.' : `Send to its floating IP ${floatingIp.address}.`
    return notRoutable(`${text} is private to a VPC, and unknown outside of it. ${advice}`)
  }
  walk.note('EXTERNAL_NETWORK', undefined, `takes the packet to ${text}`)
  return delivered('the packet leaves the deployment; what is outside is not part of this world')
}
