import { BgpSession } from '@hyperplane/contract/networking/bgp-session'
import { Gateway, LocalNetworkServices, RemoteNetworkServices } from '@hyperplane/contract/networking/gateway'
import { RouteTable } from '@hyperplane/contract/networking/route-table'
import { RoutingPolicyAction } from '@hyperplane/contract/networking/routing-policy'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VpnConnection } from '@hyperplane/contract/networking/vpn-connection'
import { defined } from '../../core/defined.ts'
import { seedId } from '../../core/ids/named-id.ts'
import { type WireAddress, writeAddress } from '../../core/ip-address.ts'
import { writeSubnet } from '../../domains/networking/ip-subnet.ts'
import { seedEstablished, seedOldAppliance, seedTunnelUp, sharedKeyOf } from '../demo/gateways.ts'
import type { Declared, DeclaredOf } from '../format.ts'
import { addressIn, bodyOf, prefixIn } from '../readable.ts'
import type { Filling } from './filling.ts'

type DeclaredPolicy = DeclaredOf<'routingPolicies'>

export async function fillRouting(filling: Filling, declared: Declared): Promise<void> {
  await fillRoutingPolicies(filling, declared.routingPolicies)
  await fillRoutes(filling, declared.routes)
  await fillGateways(filling, declared.gateways)
  await fillSessions(filling, declared.bgpSessions)
  await fillConnections(filling, declared.vpnConnections)
}

const fillRoutingPolicies = (filling: Filling, policies: Declared['routingPolicies']): Promise<void> =>
  filling.each('routingPolicies', policies, async (item, path) => {
    const { name, extId, description, priority, isBidirectional, protocolType = 'ANY' } = item
    const [vpc, policyAction] = await filling.all([
      () => filling.vpc(item.vpc, `${path}.vpc`),
      () => bodyOf(RoutingPolicyAction.fields, item, path, filling),
    ])
    const protocolParameters = parametersOf(item)
    await filling.perform(path, 'networking.createRoutingPolicy', {
      called: `routing-policy/${item.vpc}/${name}`,
      extId,
      body: {
        name,
        ...defined({ description }),
        priority,
        vpcExtId: vpc.extId,
        policies: [
          {
            policyMatch: {
              source: matchOf(filling, item.source, `${path}.source`),
              destination: matchOf(filling, item.destination, `${path}.destination`),
              protocolType,
              ...defined({ protocolParameters }),
            },
            policyAction,
            ...defined({ isBidirectional }),
          },
        ],
      },
    })
  })

const matchOf = (filling: Filling, text = 'ANY', path: string): object =>
  text === 'ANY' || text === 'EXTERNAL'
    ? { addressType: text }
    : { addressType: 'SUBNET', subnetPrefix: writeSubnet(prefixIn(text, path, filling)) }

/** Passes on all written fields; the rules check whether they fit the protocol. */
function parametersOf(item: DeclaredPolicy): object | undefined {
  const type = (name: string) => ({ $objectType: `networking.v4.config.${name}` })
  const { icmpType, icmpCode, protocolNumber, sourcePortRanges, destinationPortRanges } = item
  if (protocolNumber !== undefined) return { ...type('ProtocolNumberObject'), protocolNumber }
  if (icmpType !== undefined || icmpCode !== undefined)
    return { ...type('ICMPObject'), ...defined({ icmpType, icmpCode }) }
  if (sourcePortRanges === undefined && destinationPortRanges === undefined) return undefined
  return {
    ...type('LayerFourProtocolObject'),
    ...defined({
      sourcePortRanges: sourcePortRanges?.map(portsOf),
      destinationPortRanges: destinationPortRanges?.map(portsOf),
    }),
  }
}

export function portsOf(written: number | string): { startPort: number; endPort: number } {
  const [first = '', last = first] = String(written).split('-')
  return { startPort: Number(first), endPort: Number(last) }
}

const fillRoutes = (filling: Filling, routes: Declared['routes']): Promise<void> =>
  filling.each('routes', routes, async (item, path) => {
    const { name, extId, description, externalSubnet, localSubnet, nexthopIpAddress } = item
    const given = [externalSubnet, localSubnet, nexthopIpAddress].filter((each) => each !== undefined)
    if (given.length !== 1) filling.refuse(path, 'expected one of externalSubnet, localSubnet and nexthopIpAddress')
    const called = externalSubnet ?? localSubnet
    const at = `${path}.${externalSubnet === undefined ? 'localSubnet' : 'externalSubnet'}`
    const [vpc, subnet, nexthop] = await filling.all([
      () => filling.vpc(item.vpc, `${path}.vpc`),
      async () => (called === undefined ? undefined : filling.named(Subnet, called, at)),
      async () =>
        nexthopIpAddress === undefined ? undefined : addressIn(nexthopIpAddress, `${path}.nexthopIpAddress`, filling),
    ])
    const table = await filling.ctx.store.findOne(RouteTable, { vpcReference: vpc.extId })
    const nexthopType =
      nexthop !== undefined ? 'IP_ADDRESS' : externalSubnet === undefined ? 'LOCAL_SUBNET' : 'EXTERNAL_SUBNET'
    await filling.perform(path, 'networking.createRouteForRouteTable', {
      called: `route/${item.vpc}/${name}`,
      extId,
      path: { routeTableExtId: table!.extId },
      body: {
        name,
        ...defined({ description }),
        routeType: 'STATIC',
        destination: writeSubnet(prefixIn(item.destination, `${path}.destination`, filling)),
        nexthop: defined({
          nexthopType,
          nexthopReference: subnet?.extId,
          nexthopIpAddress: nexthop && writeAddress(nexthop),
        }),
      },
    })
  })

const fillGateways = (filling: Filling, gateways: Declared['gateways']): Promise<void> =>
  filling.each('gateways', gateways, async (item, path) => {
    const { name, extId = seedId(`gateway/${name}`), description, address, softwareVersion } = item
    if ((item.vpc === undefined) === (address === undefined))
      filling.refuse(path, 'expected either vpc, of a local gateway, or address, of a device of another owner')
    const [vpc, host] = await filling.all([
      async () => (item.vpc === undefined ? undefined : filling.vpc(item.vpc, `${path}.vpc`)),
      async () => (address === undefined ? undefined : addressIn(address, `${path}.address`, filling)),
    ])
    if (host !== undefined && softwareVersion !== undefined)
      filling.refuse(`${path}.softwareVersion`, 'expected none: only a local gateway has an appliance')
    const present = await filling.ctx.store.find(Gateway)
    if (present.some((each) => each.name === name)) filling.refuse(`${path}.name`, `there is a gateway ${name} already`)
    if ((item.service ?? 'BGP') === 'BGP' && item.asn === undefined)
      filling.refuse(`${path}.asn`, 'is required for a BGP service')
    const services = servicesOf(item, host && writeAddress(host))
    const { isHaEnabled } = item
    const highAvailabilityGroup = isHaEnabled === undefined ? undefined : { isHaEnabled }
    const body = { name, ...defined({ description, vpcReference: vpc?.extId, highAvailabilityGroup }), services }
    await filling.perform(path, 'networking.createGateway', { called: `gateway/${name}`, extId, body })
    if (vpc !== undefined) await seedOldAppliance(filling.ctx, extId, softwareVersion)
  })

const vxlanPort = 4789

function servicesOf({ asn, service }: DeclaredOf<'gateways'>, address: WireAddress | undefined): object {
  if (service === 'VTEP')
    return address === undefined
      ? { $objectType: LocalNetworkServices.objectType, localVtepService: { vxlanPort } }
      : { $objectType: RemoteNetworkServices.objectType, remoteVtepService: { vteps: [{ address }], vxlanPort } }
  const ebgp = asn === undefined ? {} : { ebgpConfig: { asn } }
  const isVpn = service === 'VPN'
  if (address === undefined)
    return {
      $objectType: LocalNetworkServices.objectType,
      ...(isVpn ? { localVpnService: ebgp } : { localBgpService: { asn } }),
    }
  return {
    $objectType: RemoteNetworkServices.objectType,
    ...(isVpn ? { remoteVpnService: { serviceAddress: address, ...ebgp } } : { remoteBgpService: { address, asn } }),
  }
}

const fillSessions = (filling: Filling, sessions: Declared['bgpSessions']): Promise<void> =>
  filling.each('bgpSessions', sessions, async (item, path) => {
    const { name, extId = seedId(`bgp-session/${name}`) } = item
    const body = await bodyBetweenGateways(filling, item, BgpSession, path)
    await filling.perform(path, 'networking.createBgpSession', { called: `bgp-session/${name}`, extId, body })
    await seedEstablished(filling.ctx, extId)
  })

const fillConnections = (filling: Filling, connections: Declared['vpnConnections']): Promise<void> =>
  filling.each('vpnConnections', connections, async (item, path) => {
    const { name, extId = seedId(`vpn-connection/${name}`), localGatewayRole = 'INITIATOR' } = item
    const body = await bodyBetweenGateways(filling, item, VpnConnection, path)
    const ipsecConfig = {
      ...(body as { ipsecConfig?: object }).ipsecConfig,
      preSharedKey: sharedKeyOf(filling.ctx, name),
    }
    await filling.perform(path, 'networking.createVpnConnection', {
      called: `vpn-connection/${name}`,
      extId,
      body: { ...body, localGatewayRole, ipsecConfig },
    })
    await seedTunnelUp(filling.ctx, extId)
  })

async function bodyBetweenGateways(
  filling: Filling,
  item: DeclaredOf<'bgpSessions'> | DeclaredOf<'vpnConnections'>,
  { schema }: typeof BgpSession | typeof VpnConnection,
  path: string,
): Promise<object> {
  const { name, description } = item
  const [local, remote, fields] = await filling.all([
    () => filling.named(Gateway, item.localGateway, `${path}.localGateway`),
    () => filling.named(Gateway, item.remoteGateway, `${path}.remoteGateway`),
    () => bodyOf(schema.fields, { ...item, name: undefined, extId: undefined }, path, filling),
  ])
  const gateways = { localGatewayReference: local.extId, remoteGatewayReference: remote.extId }
  return { ...fields, name, ...defined({ description }), ...gateways }
}
