/** Builders for VPN connections in the VPC `prod` of the demo. */
import { seedId } from '../../src/core/ids/named-id.ts'
import type { TestApp } from './start-app.ts'
import { demoRoutes, ip, made, removed } from './vpcs.ts'

export const vpnConnections = '/networking/v4.3/config/vpn-connections'
export const demoConnection = `${vpnConnections}/${seedId('vpn-connection/branch-1')}`
export const preSharedKey = 'key-of-the-test'
/** The static route of the demo through its connection. */
export const demoRoute = `${demoRoutes('prod')}/${seedId('route/prod/to-branch')}`
const gateways = '/networking/v4.3/config/gateways'

/** A remote device at the address; without an AS number there is no eBGP. */
export const remoteVpn = (address: string, asn?: number, more: object = {}): object => ({
  name: address,
  services: {
    $objectType: 'networking.v4.config.RemoteNetworkServices',
    remoteVpnService: { serviceAddress: ip(address), ...(asn !== undefined && { ebgpConfig: { asn, ...more } }) },
  },
})
/** @returns its id */
export const aRemoteVpn = async (app: TestApp, address: string, asn?: number, more?: object): Promise<string> =>
  (await made(app, gateways, remoteVpn(address, asn, more))).slice(-36)

/** From the local gateway `vpn-prod` of the demo. */
export const connectionTo = (remoteGatewayReference: string, name: string, more: object = {}): object => ({
  name,
  localGatewayReference: seedId('gateway/vpn-prod'),
  remoteGatewayReference,
  localGatewayRole: 'INITIATOR',
  ipsecConfig: { preSharedKey },
  ...more,
})

/** Frees the pair of gateways that the demo connects. */
export async function removeDemoConnection(app: TestApp): Promise<void> {
  await removed(app, demoRoute)
  await removed(app, demoConnection)
}
