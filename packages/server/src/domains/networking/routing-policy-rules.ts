/** Source: behaviour networking.md 1.7. */
import type { BodyOf, ValueOf } from '@hyperplane/contract'
import type {
  LayerFourProtocolObject,
  RoutingPolicy,
  RoutingPolicyRule,
} from '@hyperplane/contract/networking/routing-policy'
import { ApiError } from '../../core/api-error.ts'
import { type Address, type Family, readAddress, type WireAddress, writeAsGiven } from '../../core/ip-address.ts'
import { hostFaults, invalidField } from './ip-config.ts'
import { readSubnet, writeSubnetAsGiven } from './ip-subnet.ts'

export type PolicyBody = BodyOf<typeof RoutingPolicy>
type Rule = ValueOf<typeof RoutingPolicyRule>
type Match = Rule['policyMatch']
type Action = Rule['policyAction']
type Reroute = NonNullable<Action['rerouteParams']>[number]

/** Priorities below this one are reserved for the system. */
export const lowestPriority = 10

export function policyFaults({ priority, policies: [rule] }: PolicyBody): ApiError[] {
  const { policyMatch, policyAction } = rule as Rule
  const path = 'policies[0]'
  return [
    ...(priority < lowestPriority ? [new ApiError('DEFAULT_ROUTING_POLICY')] : []),
    ...matchFaults(policyMatch, `${path}/policyMatch`),
    ...actionFaults(policyAction, `${path}/policyAction`),
  ]
}

function matchFaults(match: Match, path: string): ApiError[] {
  const faults: ApiError[] = []
  const found: Family[] = []
  for (const side of ['source', 'destination'] as const) {
    const { addressType, subnetPrefix } = match[side]
    const at = `${path}/${side}/subnetPrefix`
    if (addressType !== 'SUBNET') {
      if (subnetPrefix !== undefined)
        faults.push(invalidField(at, `expected only with the type SUBNET, found ${addressType}`))
    } else if (subnetPrefix === undefined) faults.push(invalidField(at, 'is required for the type SUBNET'))
    else {
      const prefix = readSubnet(subnetPrefix, at)
      if ('first' in prefix) found.push(prefix.family)
      else faults.push(...prefix)
    }
  }
  if (found.length === 2 && found[0] !== found[1]) {
    faults.push(invalidField(`${path}/destination/subnetPrefix`, 'expected the family of the source'))
  }
  return [...faults, ...protocolFaults(match, path)]
}

const parametersOf: Readonly<Record<Match['protocolType'], string | undefined>> = {
  ANY: undefined,
  ICMP: 'networking.v4.config.ICMPObject',
  TCP: 'networking.v4.config.LayerFourProtocolObject',
  UDP: 'networking.v4.config.LayerFourProtocolObject',
  PROTOCOL_NUMBER: 'networking.v4.config.ProtocolNumberObject',
}

function protocolFaults({ protocolType, protocolParameters }: Match, path: string): ApiError[] {
  const at = `${path}/protocolParameters`
  const expected = parametersOf[protocolType]
  if (protocolParameters === undefined) {
    return protocolType === 'PROTOCOL_NUMBER' ? [invalidField(at, 'is required for PROTOCOL_NUMBER')] : []
  }
  const found = protocolParameters.$objectType
  if (expected === undefined)
    return [invalidField(at, `expected none for the protocol ${protocolType}, found ${found}`)]
  if (found !== expected)
    return [invalidField(at, `expected ${expected} for the protocol ${protocolType}, found ${found}`)]
  const lists = protocolParameters as ValueOf<typeof LayerFourProtocolObject>
  return (['sourcePortRanges', 'destinationPortRanges'] as const).flatMap((name) =>
    (lists[name] ?? []).flatMap(({ startPort, endPort }, index) =>
      startPort <= endPort
        ? []
        : [
            invalidField(
              `${at}/${name}[${index}]`,
              `expected a start before the end, found ${startPort} to ${endPort}`,
            ),
          ],
    ),
  )
}

function actionFaults({ actionType, nexthopIpAddress, rerouteParams = [] }: Action, path: string): ApiError[] {
  const faults: ApiError[] = []
  if (actionType === 'FORWARD' && nexthopIpAddress === undefined) {
    faults.push(invalidField(`${path}/nexthopIpAddress`, 'is required for FORWARD'))
  }
  if (actionType !== 'FORWARD' && nexthopIpAddress !== undefined) {
    faults.push(invalidField(`${path}/nexthopIpAddress`, `expected only with FORWARD, found ${actionType}`))
  }
  if (nexthopIpAddress !== undefined) faults.push(...hostFaults(nexthopIpAddress, `${path}/nexthopIpAddress`))
  if (actionType === 'REROUTE' && rerouteParams.length === 0) {
    faults.push(invalidField(`${path}/rerouteParams`, 'expected one item for REROUTE'))
  }
  if (actionType !== 'REROUTE' && rerouteParams.length > 0) {
    faults.push(invalidField(`${path}/rerouteParams`, `expected only with REROUTE, found ${actionType}`))
  }
  return [...faults, ...rerouteParams.flatMap((each, index) => rerouteFaults(each, `${path}/rerouteParams[${index}]`))]
}

const serviceNames = ['serviceIp', 'ingressServiceIp', 'egressServiceIp'] as const

function rerouteFaults(given: Reroute, path: string): ApiError[] {
  const found = serviceNames.filter((name) => given[name] !== undefined)
  const isWhole = found.join() === 'serviceIp' || found.join() === 'ingressServiceIp,egressServiceIp'
  return [
    ...(isWhole
      ? []
      : [
          invalidField(
            path,
            `expected serviceIp, or ingressServiceIp and egressServiceIp, found ${found.join(', ') || 'none'}`,
          ),
        ]),
    ...found.flatMap((name) => hostFaults(given[name] as WireAddress, `${path}/${name}`)),
  ]
}

export function canonicalRule(rule: Rule): Rule {
  const { policyMatch, policyAction, isBidirectional = false } = rule
  const side = (given: Match['source']): Match['source'] => {
    if (given.subnetPrefix === undefined) return given
    const prefix = readSubnet(given.subnetPrefix, '')
    return 'first' in prefix ? { ...given, subnetPrefix: writeSubnetAsGiven(given.subnetPrefix) } : given
  }
  const address = (given: WireAddress) => (isAddress(given) ? writeAsGiven(given) : given)
  const reroute = (given: Reroute): Reroute => ({
    ...given,
    ...Object.fromEntries(
      serviceNames.flatMap((name) => (given[name] === undefined ? [] : [[name, address(given[name])]])),
    ),
  })
  const { nexthopIpAddress, rerouteParams } = policyAction
  return {
    ...rule,
    policyMatch: { ...policyMatch, source: side(policyMatch.source), destination: side(policyMatch.destination) },
    policyAction: {
      ...policyAction,
      ...(nexthopIpAddress === undefined ? {} : { nexthopIpAddress: writeAsGiven(nexthopIpAddress) }),
      ...(rerouteParams === undefined ? {} : { rerouteParams: rerouteParams.map(reroute) }),
    },
    isBidirectional,
  }
}

const isAddress = (given: WireAddress): boolean => typeof (readAddress(given) as Address | string) !== 'string'
