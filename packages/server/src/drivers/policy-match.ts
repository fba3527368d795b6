/** Which routing policy of a VPC decides about a packet. Source: behaviour networking.md 1.7. */
import { type Address, isInRange, type Prefix, parsePrefix, prefixLengthOf, textOf } from '../core/ip-address.ts'
import type { PolicyProgram } from './virtual-routing.ts'

export interface Packet {
  readonly source: PacketEnd
  readonly destination: PacketEnd
  readonly protocol: 'ICMP' | 'TCP' | 'UDP'
}

export interface PacketEnd {
  readonly address: Address
  /** Absent: the protocol has none. */
  readonly port?: number
  readonly isExternal: boolean
}

interface Match {
  readonly policy: PolicyProgram
  /** Whether it matches the mirrored rule of a bidirectional policy. */
  readonly isReverse: boolean
}

export interface Decision {
  readonly policy?: PolicyProgram
  readonly isReverse?: boolean
  /** The service to which the policy reroutes does not answer. */
  readonly isFallback?: boolean
  readonly passes: boolean
}

type Condition = PolicyProgram['rule']['policyMatch']
type End = Condition['source']
type Ranges = readonly { readonly startPort: number; readonly endPort: number }[] | undefined

const protocolNumbers = { ICMP: 1, TCP: 6, UDP: 17 } as const

/** The matching policy with the highest priority decides. @param policies of one VPC */
function policyMatcher(policies: readonly PolicyProgram[]): (packet: Packet) => Match | undefined {
  const ordered = policies.toSorted((a, b) => b.priority - a.priority)
  const conditions = ordered.map((policy) => ({ policy, matches: matcherOf(policy.rule.policyMatch) }))
  return (packet) => {
    const mirrored = { ...packet, source: packet.destination, destination: packet.source }
    for (const { policy, matches } of conditions) {
      if (matches(packet)) return { policy, isReverse: false }
      if (policy.rule.isBidirectional === true && matches(mirrored)) return { policy, isReverse: true }
    }
    return undefined
  }
}

/** @param answers whether a service to which policies reroute answers at this address */
export function policyDecider(
  policies: readonly PolicyProgram[],
  answers: (address: string) => boolean,
): (packet: Packet) => Decision {
  const matchOf = policyMatcher(policies)
  return (packet) => {
    const match = matchOf(packet)
    if (match === undefined) return { passes: true }
    const { actionType, rerouteParams: [reroute] = [] } = match.policy.rule.policyAction
    if (actionType !== 'REROUTE' || reroute === undefined) return { ...match, passes: actionType !== 'DENY' }
    const { serviceIp, ingressServiceIp, egressServiceIp, rerouteFallbackAction } = reroute
    const services = [serviceIp, ingressServiceIp, egressServiceIp].flatMap((address) => textOf(address) ?? [])
    if (services.every(answers)) return { ...match, passes: true }
    const passes = rerouteFallbackAction === 'ALLOW' || rerouteFallbackAction === 'PASSTHROUGH'
    return { ...match, isFallback: true, passes }
  }
}

function matcherOf(condition: Condition): (packet: Packet) => boolean {
  const isSource = endMatcher(condition.source)
  const isDestination = endMatcher(condition.destination)
  const { protocolType, protocolParameters } = condition
  const parameters = { ...protocolParameters } as {
    readonly icmpType?: number
    readonly protocolNumber?: number
    readonly sourcePortRanges?: Ranges
    readonly destinationPortRanges?: Ranges
  }
  return ({ source, destination, protocol }) => {
    if (!isSource(source) || !isDestination(destination)) return false
    if (protocolType === 'ANY') return true
    if (protocolType === 'PROTOCOL_NUMBER') return parameters.protocolNumber === protocolNumbers[protocol]
    if (protocolType !== protocol) return false
    return isIn(parameters.sourcePortRanges, source.port) && isIn(parameters.destinationPortRanges, destination.port)
  }
}

function endMatcher({ addressType, subnetPrefix }: End): (end: PacketEnd) => boolean {
  if (addressType === 'ANY') return () => true
  if (addressType === 'EXTERNAL') return ({ isExternal }) => isExternal
  const prefix = subnetPrefix === undefined ? undefined : prefixOfWire(subnetPrefix)
  return ({ address }) => prefix?.family === address.family && isInRange(prefix, address.value)
}

function prefixOfWire({ ipv4, ipv6 }: NonNullable<End['subnetPrefix']>): Prefix | undefined {
  const [family, wire] = ipv4 === undefined ? (['IPV6', ipv6] as const) : (['IPV4', ipv4] as const)
  return wire === undefined ? undefined : parsePrefix(`${wire.ip.value}/${prefixLengthOf(family, wire)}`)
}

const isIn = (ranges: Ranges, port: number | undefined): boolean =>
  ranges === undefined ||
  ranges.length === 0 ||
  (port !== undefined && ranges.some(({ startPort, endPort }) => startPort <= port && port <= endPort))
