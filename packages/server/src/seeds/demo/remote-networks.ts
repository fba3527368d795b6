/** The networks of another manager in the world. Source: behaviour networking.md 1.13, 4. */
import { defined } from '../../core/defined.ts'
import { derivedId } from '../../core/ids/named-id.ts'
import { formatPrefix } from '../../core/ip-address.ts'
import { planOf } from '../../domains/addressing/address-plan.ts'
import type { RemoteNetworkEntities } from '../../drivers/remote-networks.ts'
import { type RemoteSite, remoteSites } from '../../drivers/simulated/remote-sites.ts'
import type { SeedContext } from '../context.ts'

type IpConfig = NonNullable<RemoteNetworkEntities['subnets']['ipConfig']>[number]

export interface SiteDescription {
  readonly cluster: string
  readonly vpc: string
  readonly subnets: readonly { readonly name: string; readonly ipConfig: IpConfig; readonly guests: number }[]
  readonly vtepGateways: readonly { readonly name: string; readonly address: string }[]
  readonly vpnConnections: readonly string[]
}

/** The id of an entity at another manager. */
export const remoteId = (managerExtId: string, kind: string, name: string): string =>
  derivedId(`remote ${kind} ${name}`, managerExtId)

export function siteOf(managerExtId: string, described: SiteDescription): RemoteSite {
  const id = (kind: string, name: string): string => remoteId(managerExtId, kind, name)
  const place = {
    clusterReference: id('cluster', described.cluster),
    clusterName: described.cluster,
    vpcReference: id('VPC', described.vpc),
    vpcName: described.vpc,
  }
  return {
    networks: {
      subnets: described.subnets.map(({ name, ipConfig }) => {
        const [plan] = Object.values(planOf([ipConfig]))
        return defined({
          ...{ extId: id('subnet', name), name, subnetType: 'OVERLAY' as const, ipConfig: [ipConfig] },
          ...{ isExternal: false, isAdvancedNetworking: true, ipPrefix: plan && formatPrefix(plan.prefix) },
          ...place,
          clusterReference: undefined,
          clusterName: undefined,
        })
      }),
      vtepGateways: described.vtepGateways.map(({ name, address }) => ({
        ...{ extId: id('gateway', name), name, vxlanPort: 4789, isActive: true, isLocal: false },
        addresses: [address],
        ...place,
      })),
      vpnConnections: described.vpnConnections.map((name) => ({
        ...{ extId: id('VPN connection', name), name, localGatewayRole: 'ACCEPTOR' as const },
        localGatewayReference: id('gateway', `${name} local`),
        remoteGatewayReference: id('gateway', `${name} remote`),
        ipsecConfig: {},
        ipsecTunnelStatus: { state: 'UP' as const },
        ...place,
      })),
    },
    guests: described.subnets.flatMap(({ name, guests }) =>
      Array.from({ length: guests }, (_, index) => ({
        macAddress: macOf(managerExtId, `${name} ${index}`),
        subnetExtId: id('subnet', name),
      })),
    ),
  }
}

/** In the range of the NICs of VMs. */
function macOf(managerExtId: string, name: string): string {
  const digits = derivedId(`MAC ${name}`, managerExtId).replaceAll('-', '')
  return ['50:6b:8d', ...[0, 2, 4].map((at) => digits.slice(at, at + 2))].join(':')
}

export const seedRemoteNetworks = (ctx: SeedContext, managerExtId: string, described: SiteDescription): Promise<void> =>
  remoteSites(ctx.world).put(managerExtId, siteOf(managerExtId, described))

const host = (value: string) => ({ value, prefixLength: 32 })
const network = (start: string, pool: readonly [string, string]): IpConfig => ({
  ipv4: {
    ipSubnet: { ip: host(`${start}.0`), prefixLength: 24 },
    defaultGatewayIp: host(`${start}.1`),
    poolList: [{ startIp: host(`${start}.${pool[0]}`), endIp: host(`${start}.${pool[1]}`) }],
  },
})

/** `web-dr` fits the subnet `web` of the demo; the pool of `db-dr` overlaps that of `db`. */
export const drSite: SiteDescription = {
  cluster: 'dr-01',
  vpc: 'dr',
  subnets: [
    { name: 'web-dr', ipConfig: network('192.168.10', ['251', '254']), guests: 3 },
    { name: 'db-dr', ipConfig: network('192.168.20', ['100', '200']), guests: 2 },
  ],
  vtepGateways: [{ name: 'vtep-dr', address: '10.46.1.30' }],
  vpnConnections: ['dr-to-prod'],
}
