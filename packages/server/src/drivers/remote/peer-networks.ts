/** Reads the networks of another Hyperplane, and validates its answers. Source: behaviour networking.md 1.13. */
import type { Client } from '@hyperplane/client'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VpnConnection } from '@hyperplane/contract/networking/vpn-connection'
import { defined } from '../../core/defined.ts'
import { validateBody } from '../../core/input/validate.ts'
import { formatAddress, readAddress, type WireAddress } from '../../core/ip-address.ts'
import { RemoteFault } from '../remote-managers.ts'
import type { RemoteNetworkEntities, RemoteSort } from '../remote-networks.ts'
import { requireId } from './self-description.ts'

type Reads = { readonly [S in RemoteSort]: (client: Client, address: string) => Promise<RemoteNetworkEntities[S][]> }

const pageSize = 100
/** More than any manager has; an endless list must not fill the memory. */
const mostPages = 100
const longestName = 128
const validation = { unknown: 'ignore', version: 'v4.3', sparse: false, defaults: false } as const

/** @throws RemoteFault */
async function all<T>(
  page: (options: { page: number; limit: number }) => Promise<{ readonly data: readonly T[] }>,
  address: string,
): Promise<readonly T[]> {
  const found: T[] = []
  for (let index = 0; index < mostPages; index++) {
    const { data } = await page({ page: index, limit: pageSize })
    found.push(...data)
    if (data.length < pageSize) return found
  }
  throw new RemoteFault('refused', `${address} shows more than ${mostPages * pageSize} network entities of one kind`)
}

const named = ({ extId, name }: { readonly extId?: unknown; readonly name?: unknown }, address: string) => {
  if (typeof name !== 'string' || name.length > longestName)
    throw new RemoteFault('refused', `${address} shows a network entity without a name`)
  return { extId: requireId(extId, address), name }
}

function addressText(given: WireAddress): string | undefined {
  const address = readAddress(given)
  return typeof address === 'string' ? undefined : formatAddress(address)
}

export const peerNetworks: Reads = {
  async subnets(client, address) {
    const filter = 'isExternal eq false'
    const shown = await all((options) => client.networking.listSubnets({ ...options, filter }), address)
    return shown.flatMap((subnet) => {
      if (subnet.ipConfig === undefined) return []
      const { value, faults } = validateBody(Subnet.schema.fields.ipConfig, subnet.ipConfig, validation)
      if (faults.length > 0) throw new RemoteFault('refused', `${address} shows a subnet with a malformed ipConfig`)
      const { clusterReference, isAdvancedNetworking, networkId, subnetType, vpcReference } = subnet
      const place = { clusterReference, isAdvancedNetworking, networkId, subnetType, vpcReference }
      const ipConfig = value as RemoteNetworkEntities['subnets']['ipConfig']
      return [{ ...named(subnet, address), ...place, isExternal: false, ipConfig, ipPrefix: subnet.ipPrefix }]
    })
  },
  async vtepGateways(client, address) {
    const shown = await all((options) => client.networking.listGateways(options), address)
    return shown.flatMap((gateway) => {
      const { isActive, services, vpcReference } = gateway
      if (!('localVtepService' in services) || services.localVtepService === undefined) return []
      const { vxlanPort } = services.localVtepService
      const addresses = (services.serviceAddresses ?? []).flatMap((each) => addressText(each) ?? [])
      const clusterReference = gateway.deployment?.clusterReference
      const shown = { clusterReference, vpcReference, vxlanPort, isActive, isLocal: false, addresses }
      return [{ ...named(gateway, address), ...shown }]
    })
  },
  async vpnConnections(client, address) {
    const shown = await all((options) => client.networking.listVpnConnections(options), address)
    return shown.map((connection) => {
      const { preSharedKey: _, ...ipsecConfig } = connection.ipsecConfig
      const { dpdConfig, localGatewayReference, localGatewayRole, name, qosConfig, remoteGatewayReference } = connection
      const body = {
        dpdConfig,
        ipsecConfig,
        localGatewayReference,
        localGatewayRole,
        name,
        qosConfig,
        remoteGatewayReference,
      }
      const { value, faults } = validateBody(VpnConnection.schema, defined(body), validation)
      if (faults.length > 0) throw new RemoteFault('refused', `${address} shows a malformed VPN connection`)
      const state = connection.ipsecTunnelStatus?.state === 'UP' ? ('UP' as const) : ('DOWN' as const)
      return { ...(value as typeof connection), ...named(connection, address), ipsecTunnelStatus: { state } }
    })
  },
}
