/** Builders for layer-2 stretches between the demo and its remote site. */
import { seedId } from '../../src/core/ids/named-id.ts'
import { remoteId } from '../../src/seeds/demo/remote-networks.ts'
import type { TestApp } from './start-app.ts'
import { removed } from './vpcs.ts'

export const stretches = '/networking/v4.3/config/layer2-stretches'
export const demoStretch = `${stretches}/${seedId('layer2-stretch/web-stretch')}`
export const drSite = seedId('manager/dr-site')
export const remoteSubnet = (name: string): string => remoteId(drSite, 'subnet', name)
export const macsOf = (path: string): string => `${path}/learned-mac-addresses`
export const statsOf = (path: string): string => `/networking/v4.3/stats/layer2-stretches/${path.slice(-36)}`

export const localSide = (more: object = {}): object => ({
  stretchSubnetReference: seedId('subnet/web'),
  connectionReference: seedId('gateway/vtep-prod'),
  ...more,
})
export const remoteSide = (more: object = {}): object => ({
  pcClusterReference: drSite,
  stretchSubnetReference: remoteSubnet('web-dr'),
  connectionReference: seedId('gateway/vtep-dr'),
  ...more,
})
export const stretchBody = (name: string, more: object = {}): object => ({
  name,
  connectionType: 'VXLAN',
  vni: 5001,
  localSiteParams: localSide(),
  remoteSiteParams: remoteSide(),
  ...more,
})

/** Through the VPN connection of the demo. */
export const vpnBody = (name: string, more: object = {}): object => ({
  name,
  connectionType: 'VPN',
  localSiteParams: localSide({ connectionReference: seedId('vpn-connection/branch-1') }),
  remoteSiteParams: remoteSide({ connectionReference: remoteId(drSite, 'VPN connection', 'dr-to-prod') }),
  ...more,
})

/** The demo has one subnet that fits the remote site: another stretch needs the present one to go. */
export async function unstretched(app: TestApp): Promise<void> {
  for (const { extId } of (await app.call('GET', stretches)).data) await removed(app, `${stretches}/${extId}`)
}
