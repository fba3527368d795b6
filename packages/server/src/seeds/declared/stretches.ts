import { Gateway } from '@hyperplane/contract/networking/gateway'
import { VpnConnection } from '@hyperplane/contract/networking/vpn-connection'
import { DomainManager } from '@hyperplane/contract/platform/domain-manager'
import { defined } from '../../core/defined.ts'
import { seedId } from '../../core/ids/named-id.ts'
import { writeAddress } from '../../core/ip-address.ts'
import type { RemoteSort } from '../../drivers/remote-networks.ts'
import { remoteSites } from '../../drivers/simulated/remote-sites.ts'
import { seedStretched } from '../demo/stretches.ts'
import type { Declared, DeclaredOf } from '../format.ts'
import { addressIn } from '../readable.ts'
import type { Filling } from './filling.ts'

type DeclaredStretch = DeclaredOf<'layer2Stretches'>

/** After the managers, whose networks they join. */
export const fillStretches = (filling: Filling, stretches: Declared['layer2Stretches']): Promise<void> =>
  filling.each('layer2Stretches', stretches, async (item, path) => {
    const { name, extId = seedId(`layer2-stretch/${name}`), description, mtu, vni } = item
    const address = item.stretchInterfaceIpAddress
    const [subnet, connection, remote] = await filling.all([
      () => filling.subnet(item.subnet, `${path}.subnet`),
      () => connectionOf(filling, item, path),
      () => remoteSideOf(filling, item, path),
    ])
    await filling.perform(path, 'networking.createLayer2Stretch', {
      called: `layer2-stretch/${name}`,
      extId,
      body: defined({
        ...{ name, description, mtu, vni },
        connectionType: item.vpnConnection === undefined ? 'VXLAN' : 'VPN',
        localSiteParams: defined({
          stretchSubnetReference: subnet.extId,
          connectionReference: connection.extId,
          stretchInterfaceIpAddress:
            address && writeAddress(addressIn(address, `${path}.stretchInterfaceIpAddress`, filling)),
        }),
        remoteSiteParams: remote,
      }),
    })
    await seedStretched(filling.ctx, extId)
  })

function connectionOf(filling: Filling, { gateway, vpnConnection }: DeclaredStretch, path: string) {
  if (vpnConnection !== undefined && gateway === undefined)
    return filling.named(VpnConnection, vpnConnection, `${path}.vpnConnection`)
  if (vpnConnection !== undefined || gateway === undefined)
    return filling.refuse(path, 'expected either gateway or vpnConnection')
  return filling.named(Gateway, gateway, `${path}.gateway`)
}

async function remoteSideOf(filling: Filling, item: DeclaredStretch, path: string): Promise<object> {
  const { remoteGateway, remoteSubnet, remoteVpnConnection, site, vpnConnection } = item
  const managers = await filling.ctx.store.find(DomainManager)
  const { extId } = managers.find(({ config }) => config.name === site) ?? {}
  if (extId === undefined) return filling.refuse(`${path}.site`, `"${site}" is none of the registered managers`)
  const named = (sort: RemoteSort, name: string | undefined): string | undefined =>
    remoteSites(filling.ctx.world)
      .get(extId)
      ?.networks[sort].find((each) => each.name === name)?.extId
  const own = (await filling.ctx.store.find(Gateway)).find(({ name }) => name === remoteGateway)?.extId
  const connectionReference =
    vpnConnection === undefined
      ? (own ?? named('vtepGateways', remoteGateway))
      : named('vpnConnections', remoteVpnConnection)
  if (connectionReference === undefined)
    return vpnConnection === undefined
      ? filling.refuse(
          `${path}.remoteGateway`,
          `expected a gateway here, or of ${site}; found ${remoteGateway ?? 'none'}`,
        )
      : filling.refuse(
          `${path}.remoteVpnConnection`,
          `expected a VPN connection of ${site}; found ${remoteVpnConnection ?? 'none'}`,
        )
  const stretchSubnetReference = named('subnets', remoteSubnet)
  if (stretchSubnetReference === undefined)
    return filling.refuse(`${path}.remoteSubnet`, `"${remoteSubnet}" is no subnet of ${site}`)
  return { pcClusterReference: extId, stretchSubnetReference, connectionReference }
}
