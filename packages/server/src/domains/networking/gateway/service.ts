/** The service of a local gateway, with its BGP peers and tunnels. Source: behaviour networking.md 1.9, 1.10, 1.11. */

import { isDeepStrictEqual } from 'node:util'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { BgpSession } from '@hyperplane/contract/networking/bgp-session'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { type ApiError, refuseAll } from '../../../core/api-error.ts'
import { textOf } from '../../../core/ip-address.ts'
import type { GatewayProgram, GatewayService } from '../../../drivers/gateways.ts'
import type { Reader } from '../../../store/store.ts'
import type { StepContext } from '../../context.ts'
import { programPeer } from '../bgp-peer.ts'
import { invalidField } from '../ip-config.ts'
import type { Phase } from '../lifecycle.ts'
import { programTunnels } from '../vpn-connection/program.ts'
import { applianceOf } from './appliance.ts'
import { type GatewayEntity, isHighlyAvailable, type Local, localOf, networkOf, vpcOf } from './entity.ts'
import { interiorRoutingOf, passwordOf } from './interior.ts'

type Deployment = NonNullable<GatewayEntity['deployment']>

const passwordPath = 'services/localVpnService/ebgpConfig/password'

export const servicePhase: Phase<GatewayEntity> = {
  create: ['configure service', 100, [5, 10]],
  update: ['configure service', 100, [2, 6]],
  delete: ['stop service', 30, [1, 3]],
  async program(ctx, gateway) {
    await ctx.drivers.networkFabric.configureGateway(programOf(ctx, gateway))
    await programPeers(ctx, gateway)
  },
  remove: ({ drivers }, { extId }) => drivers.networkFabric.removeGateway(extId),
}

/** Its BGP peers and tunnels. Sessions that are being created program their peer themselves: their task waits for that of the gateway. */
export async function programPeers(ctx: StepContext, gateway: GatewayEntity): Promise<void> {
  const sessions = await ctx.store.find(BgpSession, { refersTo: { kind: Gateway.kind, extId: gateway.extId } })
  for (const session of sessions) if (session.change?.verb !== 'create') await programPeer(ctx, session, gateway)
  await programTunnels(ctx, gateway)
}

function programOf(ctx: StepContext, gateway: GatewayEntity): GatewayProgram {
  const { dnsServers = [], interfaces = [], ntpServers = [] } = gateway.deployment ?? {}
  const vpcExtId = vpcOf(gateway)
  return {
    extId: gateway.extId,
    vmExtId: applianceOf(gateway),
    ...(vpcExtId !== undefined && { vpcExtId }),
    addresses: interfaces.flatMap(({ ipAddress }) => textOf(ipAddress) ?? []),
    service: serviceOf(ctx, gateway),
    dnsServers: dnsServers.flatMap((address) => textOf(address) ?? []),
    ntpServers: ntpServers.flatMap(({ fqdn, ...address }) => fqdn?.value ?? textOf(address) ?? []),
  }
}

function serviceOf(ctx: StepContext, gateway: GatewayEntity): GatewayService {
  const { localBgpService: bgp, localVpnService: vpn, localVtepService: vtep } = localOf(gateway) as Local
  if (bgp !== undefined)
    return { type: 'BGP', autonomousSystemNumber: bgp.asn, isMultipath: bgp.isBgpAddPathEnabled === true }
  if (vpn === undefined) {
    const group = { isHighlyAvailable: isHighlyAvailable(gateway), network: networkOf(gateway) }
    return { type: 'VTEP', port: vtep?.vxlanPort ?? 4789, ...group }
  }
  if (vpn.ebgpConfig === undefined) return { type: 'VPN' }
  const { asn, shouldRedistributeRoutes } = vpn.ebgpConfig
  const password = passwordOf(ctx, gateway, passwordPath, vpn.ebgpConfig.password)
  const interior = interiorRoutingOf(ctx, gateway)
  return {
    type: 'VPN',
    bgp: {
      ...(asn !== undefined && { autonomousSystemNumber: asn }),
      ...(password !== undefined && { password }),
      redistributesRoutes: shouldRedistributeRoutes === true,
    },
    ...(interior !== undefined && { interior }),
  }
}

const v4 = (value: string) => ({ ipv4: { value, prefixLength: 32 } })
const publicDns = [v4('8.8.8.8'), v4('4.4.4.4')]
const publicNtp = [0, 1, 2, 3].map((index) => ({ fqdn: { value: `${index}.pool.ntp.org` } }))

/** Present servers of its cluster, if to be synchronised. @throws ApiError 400 for others beside them */
export async function serversFor(
  store: Reader,
  given: Deployment,
  clusterExtId: string,
  stored: Deployment | undefined,
): Promise<Pick<Deployment, 'dnsServers' | 'ntpServers'>> {
  const { nameServerIpList = [], ntpServerIpList = [] } = (await store.get(Cluster, clusterExtId))?.network ?? {}
  const nameServers = nameServerIpList.flatMap(({ fqdn, ...address }) => (fqdn === undefined ? [address] : []))
  const isDnsSynchronized = given.shouldSynchronizeSystemDnsServers === true
  const isNtpSynchronized = given.shouldSynchronizeSystemNtpServers === true
  refuseAll([
    ...(isDnsSynchronized ? differing('dnsServers', given, [{ dnsServers: nameServers }, stored]) : []),
    ...(isNtpSynchronized ? differing('ntpServers', given, [{ ntpServers: ntpServerIpList }, stored]) : []),
  ])
  return {
    dnsServers: isDnsSynchronized ? nameServers : (given.dnsServers ?? publicDns),
    ntpServers: isNtpSynchronized ? ntpServerIpList : (given.ntpServers ?? publicNtp),
  }
}

/** Servers of the cluster and stored ones do not count: clients send back all fields that they read. */
function differing(
  name: 'dnsServers' | 'ntpServers',
  given: Deployment,
  accepted: readonly (Deployment | undefined)[],
): readonly ApiError[] {
  if (given[name] === undefined || accepted.some((each) => isDeepStrictEqual(each?.[name], given[name]))) return []
  return [invalidField(`deployment/${name}`, 'expected none, because they are synchronised with the system')]
}
