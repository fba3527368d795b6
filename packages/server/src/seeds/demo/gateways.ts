/** Gateways of the demo, with the BGP session and the VPN connection between them. Source: behaviour networking.md 4. */
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { VpnConnection } from '@hyperplane/contract/networking/vpn-connection'
import { defined } from '../../core/defined.ts'
import { seedId } from '../../core/ids/named-id.ts'
import { validateBody } from '../../core/input/validate.ts'
import { parseHost, parsePrefix, type WireAddress, writeAddress } from '../../core/ip-address.ts'
import { formatTime } from '../../core/time/clock.ts'
import { applianceDiskId } from '../../domains/networking/gateway/appliance.ts'
import { writeSubnet } from '../../domains/networking/ip-subnet.ts'
import { gatewayFacts } from '../../drivers/simulated/gateways.ts'
import { diskFacts, domainFacts } from '../../drivers/simulated/hypervisor/facts.ts'
import { fabricFacts } from '../../drivers/simulated/network-fabric.ts'
import { tunnelFacts } from '../../drivers/simulated/vpn-state.ts'
import { Acting, operationOf } from '../acting.ts'
import type { SeedContext } from '../context.ts'

const localAsn = 65010
/** For this address the simulated router offers 10 routes, one of which must be ignored. */
const torAddress = '10.44.4.21'
/** Older than the version that new gateways get, so that an upgrade can be practised. */
const applianceVersion = '6.1.2'

export async function seedGatewaysDemo(ctx: SeedContext): Promise<void> {
  const acting = new Acting(ctx)
  const create = (kind: 'BgpSession' | 'Gateway' | 'VpnConnection', called: string, body: object) =>
    acting.perform(operationOf(`networking.create${kind}`), { called, body })
  const vpcReference = seedId('vpc/prod')
  const localBgp = { asn: localAsn, isBgpAddPathEnabled: false }
  await create('Gateway', 'gateway/bgp-prod', {
    name: 'bgp-prod',
    vpcReference,
    services: local({ localBgpService: localBgp }),
  })
  const remoteBgp = { address: host(torAddress), asn: 65001 }
  await create('Gateway', 'gateway/tor-a', { name: 'tor-a', services: remote({ remoteBgpService: remoteBgp }) })
  await create('Gateway', 'gateway/vpn-prod', {
    name: 'vpn-prod',
    vpcReference,
    // Without eBGP, so that the DYNAMIC routes of the VPC are those of its BGP session.
    services: local({ localVpnService: {} }),
  })
  await seedOldAppliance(ctx, seedId('gateway/vpn-prod'))
  const remoteVpn = {
    serviceAddress: host('203.0.113.20'),
    ebgpConfig: { asn: 65003, shouldRedistributeRoutes: false },
  }
  await create('Gateway', 'gateway/branch', {
    name: 'branch',
    services: remote({ remoteVpnService: { ...remoteVpn, shouldInstallXiRoute: false } }),
  })
  const remoteVtep = { vteps: [{ address: host('10.46.1.30') }], vxlanPort: 4789 }
  await create('Gateway', 'gateway/vtep-dr', { name: 'vtep-dr', services: remote({ remoteVtepService: remoteVtep }) })
  await seedOldAppliance(ctx, seedId('gateway/bgp-prod'), applianceVersion)
  const session = 'bgp-session/prod-tor-a'
  await create('BgpSession', session, {
    name: 'prod-tor-a',
    localGatewayReference: seedId('gateway/bgp-prod'),
    remoteGatewayReference: seedId('gateway/tor-a'),
    dynamicRoutePriority: 700,
    advertisedRoutesCommunities: [{ autonomousSystemNumber: localAsn, communityValue: 100 }],
  })
  await seedEstablished(ctx, seedId(session))
  const connection = 'vpn-connection/branch-1'
  const body = {
    name: 'branch-1',
    localGatewayReference: seedId('gateway/vpn-prod'),
    remoteGatewayReference: seedId('gateway/branch'),
    localGatewayRole: 'INITIATOR',
    ipsecConfig: { preSharedKey: sharedKeyOf(ctx, 'branch-1') },
  }
  const options = { unknown: 'refuse', version: '', sparse: false, defaults: true } as const
  await create('VpnConnection', connection, validateBody(VpnConnection.schema, body, options).value as object)
  await seedTunnelUp(ctx, seedId(connection))
  await acting.perform(operationOf('networking.createRouteForRouteTable'), {
    called: 'route/prod/to-branch',
    path: { routeTableExtId: seedId('route-table/prod') },
    body: {
      name: 'to-branch',
      routeType: 'STATIC',
      destination: writeSubnet(parsePrefix('10.61.0.0/16')!),
      nexthop: { nexthopType: 'VPN_CONNECTION', nexthopReference: seedId(connection) },
    },
  })
}

const type = (name: string) => ({ $objectType: `networking.v4.config.${name}NetworkServices` })
const local = (service: object): object => ({ ...type('Local'), ...service })
const remote = (service: object): object => ({ ...type('Remote'), ...service })
const host = (text: string): WireAddress => writeAddress(parseHost(text)!)

const daysAgo = (ctx: SeedContext): number => ctx.clock.now() - 9 * 86_400_000

/** As if the appliance had run for days. @param version default: that of a new one */
export async function seedOldAppliance(ctx: SeedContext, gatewayExtId: string, version?: string): Promise<void> {
  const { vmReference = '', installedSoftwareVersion = '' } = (await ctx.store.get(Gateway, gatewayExtId)) ?? {}
  const startedAt = daysAgo(ctx)
  const fact = domainFacts(ctx.world).get(vmReference)!
  const present = applianceDiskId(vmReference, installedSoftwareVersion)
  const disk = applianceDiskId(vmReference, version ?? installedSoftwareVersion)
  await domainFacts(ctx.world).put(vmReference, { ...fact, startedAt, domain: { ...fact.domain, diskExtIds: [disk] } })
  await gatewayFacts(ctx.world).agents.put(gatewayExtId, { startedAt })
  if (disk === present) return
  await diskFacts(ctx.world).put(disk, diskFacts(ctx.world).get(present)!)
  await diskFacts(ctx.world).remove(present)
  await ctx.store.update(Gateway, gatewayExtId, defined({ installedSoftwareVersion: version }))
}

/** As if the session had been there for days. */
export async function seedEstablished(ctx: SeedContext, sessionExtId: string): Promise<void> {
  const { bgpPeers } = fabricFacts(ctx.world)
  await bgpPeers.put(sessionExtId, { ...bgpPeers.get(sessionExtId)!, since: daysAgo(ctx) })
}

/** Both ends of the tunnel get this key; no seed holds it. */
export function sharedKeyOf({ draws }: SeedContext, connectionName: string): string {
  const draw = draws(`pre-shared key ${connectionName}`)
  return Array.from({ length: 32 }, () => Math.floor(36 * draw()).toString(36)).join('')
}

/** As if the tunnel had been up for days. */
export async function seedTunnelUp(ctx: SeedContext, connectionExtId: string): Promise<void> {
  const { tunnels } = tunnelFacts(ctx.world)
  const { routing, ...tunnel } = tunnels.get(connectionExtId)!
  const since = daysAgo(ctx)
  const { bgp, ...own } = routing!
  await tunnels.put(connectionExtId, {
    ...tunnel,
    since,
    negotiation: { at: since, isRekey: false },
    routing: { ...own, ...(bgp && { bgp: { ...bgp, since } }) },
  })
  await ctx.store.observe(VpnConnection, connectionExtId, { createdAt: formatTime(since) })
}
