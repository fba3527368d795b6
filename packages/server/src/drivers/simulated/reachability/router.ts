/** Steps of a traced packet at the router of a VPC: policy, route, translation of its source. */
import { type Address, formatAddress, isInRange, parseHost, parsePrefix } from '../../../core/ip-address.ts'
import { type Decision, policyDecider } from '../../policy-match.ts'
import { routesBy } from '../../route-selection.ts'
import type { TableRoute } from '../../virtual-routing.ts'
import { routerFacts } from '../router-facts.ts'
import { type PortView, type Surroundings, surroundingsOf } from '../router-surroundings.ts'
import { routesOfRouter } from '../router-tables.ts'
import { policyFacts } from '../routing-policies.ts'
import { routingFacts } from '../virtual-routing.ts'
import { isSame, isWithin, subnetAt } from './ports.ts'
import { delivered, dropped, notRoutable, type Step, type Walk } from './walk.ts'

export function crossRouter(walk: Walk, vpcExtId: string): Step {
  const { world } = walk
  if (routerFacts(world).get(vpcExtId) === undefined) return dropped('the VPC has no router')
  walk.note('ROUTER', { kind: 'Vpc', extId: vpcExtId }, 'routes the packet')
  const denial = judge(walk, vpcExtId)
  if (denial !== undefined) return dropped(denial)
  const route = routeFor(walk, vpcExtId)
  if (route === undefined) return notRoutable(reasonForNoRoute(walk, vpcExtId))
  walk.note('ROUTE', entityOf(route), `matches: ${route.type} route to ${route.prefix}`)
  return leave(walk, vpcExtId, surroundingsOf(world, vpcExtId), route)
}

/** Hosts apply the policies of a VPC to packets of its NICs, also within a subnet. @returns the denial */
export function judge(walk: Walk, vpcExtId: string): string | undefined {
  const { world, packet, source, destination } = walk
  const { prefixes } = surroundingsOf(world, vpcExtId)
  const policies = [...policyFacts(world).all().values()].filter((policy) => policy.vpcExtId === vpcExtId)
  const isExternal = ({ family, value }: Address): boolean =>
    !prefixes.some(({ prefix }) => prefix.family === family && isInRange(prefix, value))
  const answers = (address: string): boolean =>
    walk.ports.some(
      (port) =>
        port.addresses.includes(address) &&
        subnetAt(world, port.subnetExtId)?.vpcExtId === vpcExtId &&
        walk.silence(port) === undefined,
    )
  const decision = policyDecider(
    policies,
    answers,
  )({
    source: { address: source, isExternal: isExternal(source), ...portPart(packet.sourcePort) },
    destination: { address: destination, isExternal: isExternal(destination), ...portPart(walk.destinationPort) },
    protocol: packet.protocol,
  })
  if (decision.policy === undefined) return undefined
  walk.note('POLICY', { kind: 'RoutingPolicy', extId: decision.policy.extId }, textOf(decision))
  return decision.passes ? undefined : `a routing policy with priority ${decision.policy.priority} drops the packet`
}

const portPart = (port: number | undefined): { readonly port?: number } => (port === undefined ? {} : { port })

function textOf({ policy, isReverse = false, isFallback = false, passes }: Decision): string {
  const { priority, rule } = policy!
  const { actionType } = rule.policyAction
  const service = isFallback ? `: its service does not answer, so it ${passes ? 'permits' : 'drops'}` : ''
  return `priority ${priority} matches${isReverse ? ' in the opposite direction' : ''}: ${actionType}${service}`
}

/** The addresses of the packet choose among routes of equal cost. */
function routeFor(walk: Walk, vpcExtId: string): TableRoute | undefined {
  const active = routesOfRouter(walk.world, vpcExtId).filter(({ isActive }) => isActive)
  const found = routesBy(active.flatMap((route) => withPrefix(route)))(walk.destination)
  return walk.oneOf(found)?.route
}

function reasonForNoRoute({ world, destination }: Walk, vpcExtId: string): string {
  const text = formatAddress(destination)
  const idle = routesOfRouter(world, vpcExtId).find(({ prefix }) => isWithin([prefix], destination))
  if (idle === undefined) return `the VPC has no route to ${text}`
  return `the ${idle.type} route of the VPC to ${idle.prefix} is not active, because its nexthop does not work`
}

function withPrefix(route: TableRoute) {
  const prefix = parsePrefix(route.prefix)
  return prefix === undefined ? [] : [{ prefix, route }]
}

const kinds = { LOCAL: 'Subnet', STATIC: 'Route' } as const

function entityOf({ type, sourceExtId, nexthop }: TableRoute) {
  const learnedFrom = nexthop.connectionExtId === undefined ? 'BgpSession' : 'VpnConnection'
  return { kind: type === 'DYNAMIC' ? learnedFrom : kinds[type], extId: sourceExtId }
}

function leave(walk: Walk, vpcExtId: string, { prefixes, ports }: Surroundings, { nexthop }: TableRoute): Step {
  if (nexthop.connectionExtId !== undefined) {
    walk.note('TUNNEL', { kind: 'VpnConnection', extId: nexthop.connectionExtId }, 'is up and takes the packet')
    return delivered('the packet leaves through the tunnel; the remote site is not part of this world')
  }
  const via = parseHost(nexthop.address ?? '')
  const isAt = ({ subnetExtId }: { readonly subnetExtId: string }): boolean => subnetExtId === nexthop.subnetExtId
  const reaches = (prefix: PortView['prefixes'][number]): boolean =>
    via !== undefined && prefix.family === via.family && isInRange(prefix, via.value)
  const local = prefixes.find((each) => isAt(each) || (nexthop.subnetExtId === undefined && reaches(each.prefix)))
  const beside = via === undefined ? {} : { via }
  if (local !== undefined) return { at: 'subnet', subnetExtId: local.subnetExtId, ...beside }
  const port = ports.find((each) => isAt(each) || (nexthop.subnetExtId === undefined && each.prefixes.some(reaches)))
  if (port === undefined) return notRoutable('the nexthop of the route is on no subnet of the router')
  const fault = translate(walk, vpcExtId, port)
  if (fault !== undefined) return dropped(fault)
  return { at: 'subnet', subnetExtId: port.subnetExtId, ...beside }
}

/** @returns why the packet cannot leave */
function translate(
  walk: Walk,
  vpcExtId: string,
  { subnetExtId, addresses, isTranslated }: PortView,
): string | undefined {
  const { world, source } = walk
  const floatingIp = [...routingFacts(world).floatingIps.all().values()].find(
    (each) =>
      each.vpcExtId === vpcExtId && each.externalSubnetExtId === subnetExtId && isSame(each.privateAddress, source),
  )
  if (floatingIp !== undefined) {
    walk.source = parseHost(floatingIp.address) ?? source
    const entity = { kind: 'FloatingIp', extId: floatingIp.extId }
    walk.note('FLOATING_IP', entity, `translates the source to ${floatingIp.address}`)
    return undefined
  }
  const entity = { kind: 'Subnet', extId: subnetExtId }
  if (isTranslated) {
    const own = addresses.find((text) => parseHost(text)?.family === source.family)
    if (own === undefined) return `the VPC has no ${source.family} address for source NAT`
    walk.source = parseHost(own) ?? source
    walk.note('NAT', entity, `translates the source to ${own}, an address of the VPC`)
    return undefined
  }
  const { externallyRoutablePrefixes } = routerFacts(world).get(vpcExtId)!.program
  if (isWithin(externallyRoutablePrefixes, source)) return undefined
  walk.note('NAT', entity, 'translates nothing')
  return `the source ${formatAddress(source)} is in no externally routable prefix of the VPC, so no answer would find back`
}
